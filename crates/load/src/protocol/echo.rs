//! Echo: a message of fixed size comes back as it was sent.
//!
//! Each message carries its connection and number, so that a reply to another one is noticed.

use crate::engine::exchange::{Exchange, Reply};
use brunt_wire::echo::{self, Checker, MessageId, Pattern};
use std::{num::NonZeroUsize, ops::Deref};

pub struct Echo {
    pattern: Pattern,
    /// Bytes of a message, at least 1.
    size: usize,
    /// Whether replies are compared, or only counted.
    verify: bool,
    /// Messages that a connection carries, at least 1.
    reuse: u64,
}

impl Echo {
    pub fn new(size: usize, reuse: Option<u64>, verify: bool, seed: u64) -> Self {
        let pattern = Pattern::new(NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN), seed);
        Self { size: pattern.size(), pattern, verify, reuse: reuse.unwrap_or(u64::MAX) }
    }
}

/// The message in flight, or the last one, and the check of its reply.
pub struct State {
    message: MessageId,
    checker: Checker,
}

impl Exchange for Echo {
    type State = State;

    fn state(&self, number: u32) -> State {
        // The first connections carry fewer messages, so that not all are replaced at the same time.
        let carried = if self.reuse == u64::MAX { 0 } else { u64::from(number) % self.reuse };
        State { message: MessageId { connection: number, sequence: carried as u32 }, checker: Checker::default() }
    }

    #[inline(always)]
    fn next(&self, state: &mut State) {
        state.message.sequence = state.message.sequence.wrapping_add(1);
        state.checker = Checker::default();
    }

    #[inline(always)]
    fn request_len(&self, _: &State) -> usize {
        self.size
    }

    #[inline]
    fn request<'a>(&'a mut self, state: &'a State) -> impl Deref<Target = [u8]> + 'a {
        self.pattern.stamped(state.message)
    }

    #[inline(always)]
    fn check(&self, state: &mut State, bytes: &[u8]) -> Reply {
        let reply = match self.verify {
            true => state.checker.feed(&self.pattern, state.message, bytes),
            false => state.checker.count(&self.pattern, bytes),
        };
        match reply {
            echo::Check::Incomplete => Reply::Incomplete,
            echo::Check::Complete => Reply::Complete(Ok(())),
            echo::Check::WrongByte { .. } | echo::Check::Excess { .. } => Reply::Wrong,
        }
    }

    fn has_begun(&self, state: &State) -> bool {
        state.checker.has_begun()
    }

    #[inline(always)]
    fn is_last(&self, state: &State) -> bool {
        // The comparison spares the division where there is no limit.
        let sent = u64::from(state.message.sequence);
        sent >= self.reuse && sent.is_multiple_of(self.reuse)
    }

    /// A verified reply in one piece differs from the next request in its stamp alone.
    #[inline(always)]
    fn reuse(&self, state: &State, reply: &mut [u8]) -> bool {
        let whole = self.verify && reply.len() == self.size;
        if whole {
            state.message.restamp(reply);
        }
        whole
    }
}
