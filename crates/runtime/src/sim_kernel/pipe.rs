//! One direction of a stream: bytes accepted from the sender, on their way, and unread by the receiver.
//!
//! ```text
//! send -> unsent (send buffer) -> flying (the link) -> unread (receive window) -> receive
//!            <- acks, after the way back                <- credits: window updates, after the way back
//! ```
//! Invariants:
//! - Bytes keep their order; each is delivered once, before the end of the stream.
//! - `flying + unread + credits on their way <= window`, and `bytes not acknowledged <= send buffer`.

use std::collections::VecDeque;

/// How far the end of a stream has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub(crate) enum End {
    /// The sender may send more.
    #[default]
    Open,
    /// The sender has ended it; bytes before it are unsent.
    Queued,
    Sent,
    Arrived,
}

#[derive(Debug, Default)]
pub(crate) struct Pipe {
    /// Unread, flying, unsent bytes, in this order.
    bytes: VecDeque<u8>,
    pub unread: usize,
    pub flying: usize,
    pub unsent: usize,
    pub end: End,
    /// Limits in bytes.
    pub window: usize,
    pub send_buffer: usize,
    /// Bytes sent for which no credit has come back; bytes accepted for which no acknowledgement has.
    used: usize,
    unacked: usize,
    /// Their returns: time and bytes.
    credits: VecDeque<(u64, usize)>,
    acks: VecDeque<(u64, usize)>,
    /// Arrival of the last segment, and when the link is free again.
    pub last_arrival: u64,
    pub link_free: u64,
    /// An event for the next credit or acknowledgement is scheduled.
    pub pump_scheduled: bool,
    pub space_scheduled: bool,
}

fn returned(queue: &mut VecDeque<(u64, usize)>, at: u64) -> usize {
    let mut sum = 0;
    while let Some(&(when, len)) = queue.front()
        && when <= at
    {
        sum += len;
        queue.pop_front();
    }
    sum
}

fn append(queue: &mut VecDeque<(u64, usize)>, at: u64, len: usize) {
    match queue.back_mut() {
        // Jitter does not reorder what returns.
        Some((last, sum)) if *last >= at => *sum += len,
        _ => queue.push_back((at, len)),
    }
}

impl Pipe {
    pub fn new(window: usize, send_buffer: usize) -> Self {
        Self { window, send_buffer, ..Self::default() }
    }

    /// Bytes that the sender may add at that time.
    pub fn space(&mut self, at: u64) -> usize {
        self.send_buffer.saturating_sub(self.unacked(at))
    }

    /// Bytes of which the sender has no acknowledgement at that time.
    pub fn unacked(&mut self, at: u64) -> usize {
        self.unacked -= returned(&mut self.acks, at);
        self.unacked
    }

    /// Adds bytes, at most as many as there is space for.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend(bytes);
        self.unsent += bytes.len();
        self.unacked += bytes.len();
    }

    /// Takes what may be sent at that time; returns how many bytes.
    pub fn take_sendable(&mut self, at: u64) -> usize {
        self.used -= returned(&mut self.credits, at);
        let len = self.unsent.min(self.window.saturating_sub(self.used));
        self.unsent -= len;
        self.flying += len;
        self.used += len;
        len
    }

    /// A segment that was sent will be acknowledged then.
    pub fn acknowledge(&mut self, at: u64, len: usize) {
        append(&mut self.acks, at, len);
    }

    /// When unsent bytes may be sent next, unless nothing is on its way.
    pub fn next_credit(&self) -> Option<u64> {
        self.credits.front().map(|(at, _)| *at)
    }

    pub fn next_ack(&self) -> Option<u64> {
        self.acks.front().map(|(at, _)| *at)
    }

    pub fn arrive(&mut self, len: usize) {
        self.flying -= len;
        self.unread += len;
    }

    /// Copies unread bytes; the credit for them is back at that time.
    pub fn read(&mut self, into: &mut [u8], credit_at: u64) {
        let len = into.len();
        let (front, back) = self.bytes.as_slices();
        let first = len.min(front.len());
        into[..first].copy_from_slice(&front[..first]);
        into[first..].copy_from_slice(&back[..len - first]);
        self.bytes.drain(..len);
        self.unread -= len;
        append(&mut self.credits, credit_at, len);
    }

    /// Discards what is not on its way.
    pub fn discard_unsent(&mut self) {
        self.bytes.truncate(self.unread + self.flying);
        self.unsent = 0;
    }

    /// Discards what has not arrived.
    pub fn cut(&mut self) {
        self.bytes.truncate(self.unread);
        (self.flying, self.unsent) = (0, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Whatever the order of sending, arriving and reading: the bytes come out as they went in, within both limits.
        #[test]
        fn bytes_keep_their_order_within_both_limits(
            steps in proptest::collection::vec((0u8..4, 1usize..300), 1..300),
            (window, send_buffer) in (1usize..500, 1usize..500),
        ) {
            let mut pipe = Pipe::new(window, send_buffer);
            let (mut at, mut sent, mut got) = (0, 0usize, 0usize);
            for (step, size) in steps {
                at += size as u64 / 10;
                match step {
                    0 => {
                        let len = size.min(pipe.space(at));
                        pipe.push(&(sent..sent + len).map(|at| at as u8).collect::<Vec<_>>());
                        sent += len;
                    }
                    1 => {
                        pipe.take_sendable(at);
                    }
                    2 => {
                        let len = pipe.flying.min(size);
                        pipe.arrive(len);
                        pipe.acknowledge(at + 20, len);
                    }
                    _ => {
                        let mut into = vec![0; pipe.unread.min(size)];
                        pipe.read(&mut into, at + 10);
                        prop_assert!(into.iter().enumerate().all(|(nth, byte)| *byte == (got + nth) as u8));
                        got += into.len();
                    }
                }
                prop_assert!(pipe.flying + pipe.unread <= window);
                prop_assert!(pipe.unsent + pipe.flying <= send_buffer);
                prop_assert_eq!(pipe.unread + pipe.flying + pipe.unsent, sent - got);
            }
        }
    }
}
