//! Messages of the echo protocol, and the comparison of replies with requests.
//!
//! A message is a stamp followed by a fixed pattern. The stamp (8 bytes little-endian, or as many as fit: sequence number
//! in the low half, connection in the high half) makes consecutive messages differ, so that stale, repeated and misdelivered
//! replies are detected. The pattern is shared by all connections of a worker; each starts at its own offset. Comparing
//! takes a word for the stamp and one `memcmp` for the rest; it runs for every reply and must not loop over bytes.

use std::{num::NonZeroUsize, ops::Deref};

/// Bytes of the stamp; a shorter message carries its low bytes.
const STAMP: usize = 8;
/// Number of offsets at which a connection's pattern may start.
const OFFSETS: usize = 64;
/// Distance of these offsets: the size of the stamp, which is then stored aligned.
const STRIDE: usize = 8;

/// The bytes of all messages of one size. One per worker: memory does not grow with connections.
#[derive(Debug, Clone)]
pub struct Pattern {
    bytes: Box<[u8]>,
    size: usize,
}

/// Identifies a message of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MessageId {
    /// Number of the connection.
    pub connection: u32,
    /// Number of the message on its connection; may wrap.
    pub sequence: u32,
}

/// The state of a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// Correct so far; bytes are missing.
    Incomplete,
    /// Complete and correct, without further bytes.
    Complete,
    /// A byte differs from the request; `offset` counts from the start of the message.
    #[expect(missing_docs)]
    WrongByte { offset: usize },
    /// Complete and correct, and `extra` bytes follow it in this piece.
    #[expect(missing_docs)]
    Excess { extra: usize },
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

    /// Turns the bytes of a complete message of this connection into those of this message.
    #[inline]
    pub fn restamp(self, bytes: &mut [u8]) {
        swap_stamp(bytes, self.stamp());
    }
}

impl Pattern {
    /// The pattern of messages of `size` bytes. Equal seeds make equal patterns.
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

    /// Copies the message to `out`.
    ///
    /// # Panics
    /// If `out` is not [`Self::size`] bytes long.
    pub fn fill(&self, message: MessageId, out: &mut [u8]) {
        out.copy_from_slice(&self.bytes[message.offset()..][..self.size]);
        let stamped = self.size.min(STAMP);
        out[..stamped].copy_from_slice(&message.stamp().to_le_bytes()[..stamped]);
    }

    /// The bytes of the message, not copied: the pattern holds the stamp until the value is dropped.
    #[inline]
    pub fn stamped(&mut self, message: MessageId) -> Stamped<'_> {
        let bytes = &mut self.bytes[message.offset()..][..self.size];
        Stamped { replaced: swap_stamp(bytes, message.stamp()), bytes }
    }
}

/// A message in place in its [`Pattern`].
#[derive(Debug)]
pub struct Stamped<'p> {
    bytes: &'p mut [u8],
    /// The bytes that the stamp replaces.
    replaced: u64,
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
        // Patterns of other connections contain these bytes.
        swap_stamp(self.bytes, self.replaced);
    }
}

/// Replaces the first bytes by as much of the stamp as fits, and returns them.
#[inline]
fn swap_stamp(bytes: &mut [u8], stamp: u64) -> u64 {
    // As a word: LLVM would move a byte array byte by byte, in 60 instructions.
    if let Some(head) = bytes.first_chunk_mut::<STAMP>() {
        let replaced = u64::from_le_bytes(*head);
        *head = stamp.to_le_bytes();
        return replaced;
    }
    let mut swapped = stamp.to_le_bytes();
    let short = bytes.len();
    bytes.swap_with_slice(&mut swapped[..short]);
    u64::from_le_bytes(swapped)
}

/// Checks one reply as it arrives, in pieces of any size.
#[derive(Debug, Clone, Default)]
pub struct Checker {
    received: usize,
}

impl Checker {
    /// Compares the next bytes of the reply to `message`. After any result except [`Check::Incomplete`], the next reply needs
    /// a new checker.
    #[inline]
    pub fn feed(&mut self, pattern: &Pattern, message: MessageId, bytes: &[u8]) -> Check {
        if self.received == 0
            && bytes.len() == pattern.size
            && let Some((head, tail)) = bytes.split_first_chunk::<STAMP>()
            && u64::from_le_bytes(*head) == message.stamp()
            && *tail == pattern.bytes[message.offset() + STAMP..][..tail.len()]
        {
            // The usual case: a correct reply in one piece.
            self.received = pattern.size;
            return Check::Complete;
        }
        self.feed_piece(pattern, message, bytes)
    }

    /// Whether a part of the reply was received.
    pub fn has_begun(&self) -> bool {
        self.received > 0
    }

    #[inline(never)]
    fn feed_piece(&mut self, pattern: &Pattern, message: MessageId, bytes: &[u8]) -> Check {
        let (piece, extra) = self.split(pattern.size, bytes);
        let expected = &pattern.bytes[message.offset() + self.received..][..piece.len()];
        let stamp = message.stamp().to_le_bytes();
        let in_stamp = piece.len().min(STAMP.saturating_sub(self.received));
        let same = piece[in_stamp..] == expected[in_stamp..]
            && (in_stamp == 0 || piece[..in_stamp] == stamp[self.received..][..in_stamp]);
        if !same {
            return Check::WrongByte { offset: self.first_wrong(piece, &stamp, expected) };
        }
        self.advance(pattern.size, piece.len(), extra)
    }

    /// Counts the next bytes without comparing them.
    #[inline]
    pub fn count(&mut self, pattern: &Pattern, bytes: &[u8]) -> Check {
        let (piece, extra) = self.split(pattern.size, bytes);
        self.advance(pattern.size, piece.len(), extra)
    }

    #[inline]
    fn split<'b>(&self, size: usize, bytes: &'b [u8]) -> (&'b [u8], usize) {
        let (piece, extra) = bytes.split_at(bytes.len().min(size - self.received));
        (piece, extra.len())
    }

    #[inline]
    fn advance(&mut self, size: usize, taken: usize, extra: usize) -> Check {
        self.received += taken;
        if extra > 0 {
            Check::Excess { extra }
        } else if self.received == size {
            Check::Complete
        } else {
            Check::Incomplete
        }
    }

    #[cold]
    fn first_wrong(&self, piece: &[u8], stamp: &[u8; STAMP], expected: &[u8]) -> usize {
        let wrong = piece.iter().enumerate().position(|(i, byte)| {
            let right = stamp.get(self.received + i).unwrap_or(&expected[i]);
            byte != right
        });
        self.received + wrong.unwrap_or(0)
    }
}

/// SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
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

    /// Feeds `bytes` cut at `cuts`; returns the first result other than `Incomplete`.
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
            let message = MessageId { connection: 5, sequence: 41 };
            let before = bytes_of(&pattern, MessageId { sequence: 40, ..message });
            assert_eq!(feed_cut(&pattern, message, &before, &[]), Check::WrongByte { offset: 0 }, "size {size}");
        }
        let pattern = pattern(1024);
        let (a, b) = (MessageId { connection: 1, sequence: 0 }, MessageId { connection: 2, sequence: 0 });
        assert_eq!(feed_cut(&pattern, a, &bytes_of(&pattern, b), &[]), Check::WrongByte { offset: 4 });
        // The patterns differ too, not only the stamps.
        assert_ne!(bytes_of(&pattern, a)[8..], bytes_of(&pattern, b)[8..]);
    }

    #[test]
    fn count_ignores_the_contents() {
        let pattern = pattern(10);
        let mut checker = Checker::default();
        assert_eq!(checker.count(&pattern, &[0; 4]), Check::Incomplete);
        assert_eq!(checker.count(&pattern, &[0; 6]), Check::Complete);
        assert_eq!(Checker::default().count(&pattern, &[0; 13]), Check::Excess { extra: 3 });
    }

    proptest! {
        #[test]
        fn every_split_gives_the_same_result_and_finds_a_flipped_bit_at_its_offset(
            size in 1usize..200,
            connection: u32,
            sequence: u32,
            surplus in 0usize..20,
            at: prop::sample::Index,
            bit in 0u32..8,
            cuts in proptest::collection::vec(0usize..300, 0..12),
        ) {
            let pattern = pattern(size);
            let message = MessageId { connection, sequence };
            let mut bytes = bytes_of(&pattern, message);
            prop_assert_eq!(feed_cut(&pattern, message, &bytes, &cuts), Check::Complete);
            prop_assert_eq!(feed_cut(&pattern, message, &bytes[..size - 1], &cuts), Check::Incomplete);
            if surplus > 0 {
                // Uncut, because after a cut at the message's end the surplus belongs to the next reply.
                let mut long = bytes.clone();
                long.resize(size + surplus, 0);
                prop_assert_eq!(feed_cut(&pattern, message, &long, &[]), Check::Excess { extra: surplus });
            }
            let offset = at.index(size);
            bytes[offset] ^= 1 << bit;
            prop_assert_eq!(feed_cut(&pattern, message, &bytes, &cuts), Check::WrongByte { offset });
        }

        #[test]
        fn stamped_equals_fill_and_restores_the_pattern(size in 1usize..200, connection: u32, sequence: u32) {
            let mut pattern = pattern(size);
            let untouched = pattern.bytes.clone();
            let message = MessageId { connection, sequence };
            let stamped = pattern.stamped(message).to_vec();
            prop_assert_eq!(stamped, bytes_of(&pattern, message));
            prop_assert_eq!(&pattern.bytes, &untouched);
        }
    }
}
