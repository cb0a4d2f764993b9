//! The ping-pong message: what is sent, and whether what came back is the same.
//!
//! A message is a stamp followed by a fixed pattern. The stamp (8 bytes little-endian, or as many as fit: sequence
//! number in the low half, connection in the high half) makes each message of a run differ from the one before it, so
//! a stale, repeated or misdelivered reply is never taken for the right one. The pattern is shared by all connections
//! of a worker; each starts at its own place in it. Comparing is a word for the stamp and one `memcmp` for the rest:
//! this must never become a loop over bytes, for it runs once for each reply of a load generator.

use std::{num::NonZeroUsize, ops::Deref};

/// Bytes of the stamp; a shorter message carries its low bytes.
const STAMP: usize = 8;
/// Different places at which a connection's pattern may start ...
const OFFSETS: usize = 64;
/// ... and their distance, a multiple of the word so that the stamp is stored aligned.
const STRIDE: usize = 8;

/// The bytes that all messages of one size are cut from. One for each worker: its memory does not grow with connections.
#[derive(Debug, Clone)]
pub struct Pattern {
    bytes: Box<[u8]>,
    size: usize,
}

/// Names one message of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId {
    /// The connection it belongs to.
    pub connection: u32,
    /// Its number on that connection; may wrap.
    pub sequence: u32,
}

/// What the bytes of a reply amount to so far.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Right so far, and more is to come.
    Incomplete,
    /// The whole message, byte for byte, and nothing behind it.
    Complete,
    /// Byte `offset` of the reply is not what was sent.
    WrongByte {
        /// Counted from the start of the message.
        offset: usize,
    },
    /// The whole message is there and `extra` bytes follow that nobody asked for.
    Excess {
        /// Bytes behind the end of the message in this piece.
        extra: usize,
    },
}

impl MessageId {
    #[inline]
    fn stamp(self) -> u64 {
        u64::from(self.connection) << 32 | u64::from(self.sequence)
    }

    #[inline]
    fn offset(self) -> usize {
        self.connection as usize % OFFSETS * STRIDE
    }
}

impl MessageId {
    /// Makes the whole bytes of another message of this connection the bytes of this one.
    #[inline]
    pub fn restamp(self, bytes: &mut [u8]) {
        swap_stamp(bytes, self.stamp());
    }
}

impl Pattern {
    /// The pattern of messages of `size` bytes; equal seeds make equal patterns.
    pub fn new(size: NonZeroUsize, seed: u64) -> Self {
        let size = size.get();
        let mut bytes = vec![0; size + OFFSETS * STRIDE];
        let mut state = seed;
        for chunk in bytes.chunks_mut(8) {
            chunk.copy_from_slice(&split_mix(&mut state).to_le_bytes()[..chunk.len()]);
        }
        Self { bytes: bytes.into_boxed_slice(), size }
    }

    /// Bytes of one message.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Writes the message into `out`, which must be [`Self::size`] bytes long.
    ///
    /// # Panics
    /// If `out` has another length.
    pub fn fill(&self, message: MessageId, out: &mut [u8]) {
        out.copy_from_slice(&self.bytes[message.offset()..][..self.size]);
        let stamped = self.size.min(STAMP);
        out[..stamped].copy_from_slice(&message.stamp().to_le_bytes()[..stamped]);
    }

    /// Lends the bytes of the message without copying them: the stamp is in place for as long as the loan lives.
    #[inline]
    pub fn stamped(&mut self, message: MessageId) -> Stamped<'_> {
        let bytes = &mut self.bytes[message.offset()..][..self.size];
        Stamped { under: swap_stamp(bytes, message.stamp()), bytes }
    }
}

/// A message, stamped in place in its [`Pattern`].
#[derive(Debug)]
pub struct Stamped<'p> {
    bytes: &'p mut [u8],
    under: u64,
}

impl Deref for Stamped<'_> {
    type Target = [u8];
    #[inline]
    fn deref(&self) -> &[u8] {
        self.bytes
    }
}

impl Drop for Stamped<'_> {
    #[inline]
    fn drop(&mut self) {
        // The next connection's pattern runs through here: leave no trace.
        swap_stamp(self.bytes, self.under);
    }
}

/// Writes as much of the stamp as fits over the first bytes; returns what was there.
#[inline]
fn swap_stamp(bytes: &mut [u8], stamp: u64) -> u64 {
    // As a word and not as bytes: LLVM would move a byte array one byte at a time, 60 instructions for nothing.
    if let Some(head) = bytes.first_chunk_mut::<STAMP>() {
        let under = u64::from_le_bytes(*head);
        *head = stamp.to_le_bytes();
        return under;
    }
    let mut swapped = stamp.to_le_bytes();
    let short = bytes.len();
    bytes.swap_with_slice(&mut swapped[..short]);
    u64::from_le_bytes(swapped)
}

/// Follows one reply as it arrives, in whatever pieces.
#[derive(Debug, Clone, Default)]
pub struct Checker {
    received: usize,
}

impl Checker {
    /// Bytes taken so far.
    pub fn received(&self) -> usize {
        self.received
    }

    /// Takes the next bytes of the reply to `message` and compares them.
    ///
    /// After anything but [`Check::Incomplete`] the checker is spent: the next reply needs a new one.
    #[inline]
    pub fn feed(&mut self, pattern: &Pattern, message: MessageId, bytes: &[u8]) -> Check {
        if self.received == 0
            && bytes.len() == pattern.size
            && let Some((head, tail)) = bytes.split_first_chunk::<STAMP>()
            && u64::from_le_bytes(*head) == message.stamp()
            && *tail == pattern.bytes[message.offset() + STAMP..][..tail.len()]
        {
            // Nearly every reply comes in one piece and is right.
            self.received = pattern.size;
            return Check::Complete;
        }
        self.feed_piece(pattern, message, bytes)
    }

    #[inline(never)]
    fn feed_piece(&mut self, pattern: &Pattern, message: MessageId, bytes: &[u8]) -> Check {
        let (mine, extra) = self.split(pattern.size, bytes);
        let wanted = &pattern.bytes[message.offset() + self.received..][..mine.len()];
        let stamp = message.stamp().to_le_bytes();
        let in_stamp = mine.len().min(STAMP.saturating_sub(self.received));
        let same = mine[in_stamp..] == wanted[in_stamp..]
            && (in_stamp == 0 || mine[..in_stamp] == stamp[self.received..][..in_stamp]);
        if !same {
            return Check::WrongByte { offset: self.first_wrong(mine, &stamp, wanted) };
        }
        self.advance(pattern.size, mine.len(), extra)
    }

    /// Takes the next bytes without looking at them: only their number counts.
    #[inline]
    pub fn count(&mut self, pattern: &Pattern, bytes: &[u8]) -> Check {
        let (mine, extra) = self.split(pattern.size, bytes);
        self.advance(pattern.size, mine.len(), extra)
    }

    #[inline]
    fn split<'b>(&self, size: usize, bytes: &'b [u8]) -> (&'b [u8], usize) {
        let mine = bytes.len().min(size - self.received);
        (&bytes[..mine], bytes.len() - mine)
    }

    #[inline]
    fn advance(&mut self, size: usize, mine: usize, extra: usize) -> Check {
        self.received += mine;
        if extra > 0 {
            Check::Excess { extra }
        } else if self.received == size {
            Check::Complete
        } else {
            Check::Incomplete
        }
    }

    #[cold]
    fn first_wrong(&self, mine: &[u8], stamp: &[u8; STAMP], wanted: &[u8]) -> usize {
        let wrong = mine.iter().enumerate().position(|(i, byte)| {
            let right = stamp.get(self.received + i).unwrap_or(&wanted[i]);
            byte != right
        });
        self.received + wrong.unwrap_or(0)
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014): enough to make every place of the pattern differ from every other.
fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let z = (*state ^ (*state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pattern(size: usize) -> Pattern {
        Pattern::new(NonZeroUsize::new(size).unwrap(), 7)
    }

    fn bytes_of(pattern: &Pattern, message: MessageId) -> Vec<u8> {
        let mut bytes = vec![0; pattern.size()];
        pattern.fill(message, &mut bytes);
        bytes
    }

    /// Feeds `bytes` cut at `cuts`; returns the first answer that is not `Incomplete`.
    fn feed_cut(pattern: &Pattern, message: MessageId, bytes: &[u8], cuts: &[usize]) -> Check {
        let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
        cuts.extend([0, bytes.len()]);
        cuts.sort_unstable();
        let mut checker = Checker::default();
        for pair in cuts.windows(2) {
            let reply = checker.feed(pattern, message, &bytes[pair[0]..pair[1]]);
            if reply != Check::Incomplete {
                return reply;
            }
        }
        Check::Incomplete
    }

    #[test]
    fn the_stamp_is_little_endian_sequence_then_connection() {
        let message = MessageId { connection: 0x0a0b_0c0d, sequence: 0x0102_0304 };
        assert_eq!(bytes_of(&pattern(20), message)[..8], [4, 3, 2, 1, 0x0d, 0x0c, 0x0b, 0x0a]);
        assert_eq!(bytes_of(&pattern(1), message), [4]);
        assert_eq!(bytes_of(&pattern(3), message), [4, 3, 2]);
    }

    #[test]
    fn neighbours_in_sequence_and_connection_differ() {
        for size in [1, 7, 8, 9, 1024] {
            let pattern = pattern(size);
            let mine = MessageId { connection: 5, sequence: 41 };
            let before = bytes_of(&pattern, MessageId { sequence: 40, ..mine });
            assert_eq!(feed_cut(&pattern, mine, &before, &[]), Check::WrongByte { offset: 0 }, "size {size}");
        }
        let pattern = pattern(1024);
        let (a, b) = (MessageId { connection: 1, sequence: 0 }, MessageId { connection: 2, sequence: 0 });
        assert_eq!(feed_cut(&pattern, a, &bytes_of(&pattern, b), &[]), Check::WrongByte { offset: 4 });
        // The patterns differ too, not only the stamps.
        assert_ne!(bytes_of(&pattern, a)[8..], bytes_of(&pattern, b)[8..]);
    }

    #[test]
    fn counting_ignores_what_the_bytes_are() {
        let pattern = pattern(10);
        let mut checker = Checker::default();
        assert_eq!(checker.count(&pattern, &[0; 4]), Check::Incomplete);
        assert_eq!(checker.count(&pattern, &[0; 6]), Check::Complete);
        assert_eq!(Checker::default().count(&pattern, &[0; 13]), Check::Excess { extra: 3 });
    }

    proptest! {
        #[test]
        fn every_split_gives_the_same_answer(
            size in 1usize..200,
            connection: u32,
            sequence: u32,
            surplus in 0usize..20,
            cuts in proptest::collection::vec(0usize..300, 0..12),
        ) {
            let pattern = pattern(size);
            let message = MessageId { connection, sequence };
            let bytes = bytes_of(&pattern, message);
            prop_assert_eq!(feed_cut(&pattern, message, &bytes, &cuts), Check::Complete);
            prop_assert_eq!(feed_cut(&pattern, message, &bytes[..size - 1], &cuts), Check::Incomplete);
            if surplus > 0 {
                // A cut at the message's end makes the surplus a matter for the next reply; without one it shows at once.
                let mut long = bytes.clone();
                long.resize(size + surplus, 0);
                prop_assert_eq!(feed_cut(&pattern, message, &long, &[]), Check::Excess { extra: surplus });
            }
        }

        #[test]
        fn a_flipped_bit_is_always_found_where_it_is(
            size in 1usize..200,
            connection: u32,
            sequence: u32,
            at: prop::sample::Index,
            bit in 0u32..8,
            cuts in proptest::collection::vec(0usize..300, 0..12),
        ) {
            let pattern = pattern(size);
            let message = MessageId { connection, sequence };
            let mut bytes = bytes_of(&pattern, message);
            let offset = at.index(size);
            bytes[offset] ^= 1 << bit;
            prop_assert_eq!(feed_cut(&pattern, message, &bytes, &cuts), Check::WrongByte { offset });
        }

        #[test]
        fn lending_and_filling_agree_and_leave_no_trace(size in 1usize..200, connection: u32, sequence: u32) {
            let mut pattern = pattern(size);
            let untouched = pattern.bytes.clone();
            let message = MessageId { connection, sequence };
            let lent = pattern.stamped(message).to_vec();
            prop_assert_eq!(lent, bytes_of(&pattern, message));
            prop_assert_eq!(&pattern.bytes, &untouched);
        }
    }
}
