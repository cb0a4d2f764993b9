//! Echo: a message of fixed size comes back as it was sent.
//!
//! Each message carries its connection and number, so that a reply to another one is noticed.

use crate::engine::{
    connect,
    exchange::{Exchange, Reply},
    worker::Worker,
};
use brunt_runtime::net::TcpStream;
use brunt_wire::echo::{self, Checker, MessageId, Pattern};
use std::{io, num::NonZeroUsize, ops::Deref};

/// The messages of one load thread.
pub struct Echo {
    pattern: Pattern,
    /// Bytes of a message.
    size: usize,
    /// Whether replies are compared, not only counted.
    verify: bool,
}

impl Echo {
    /// Messages of `size` bytes, at least 1.
    pub fn new(size: usize, verify: bool, seed: u64) -> Self {
        let pattern = Pattern::new(NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN), seed);
        Self { size: pattern.size(), pattern, verify }
    }
}

/// The message in flight, or the last one, and what has come of its reply.
pub struct State {
    message: MessageId,
    checker: Checker,
}

impl Exchange for Echo {
    type Stream = TcpStream;
    type State = State;

    fn connect(worker: &Worker<Self>, index: u32) -> impl Future<Output = io::Result<TcpStream>> {
        connect::tcp(worker, index)
    }

    fn state(&self, number: u32) -> State {
        State { message: MessageId { connection: number, sequence: 0 }, checker: Checker::default() }
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
            echo::Check::Complete => Reply::Complete,
            echo::Check::WrongByte { .. } | echo::Check::Excess { .. } => Reply::Wrong,
        }
    }

    /// A reply in one piece that was compared differs from the next request in its stamp alone.
    #[inline(always)]
    fn reuse(&self, state: &State, reply: &mut [u8]) -> bool {
        let whole = self.verify && reply.len() == self.size;
        if whole {
            state.message.restamp(reply);
        }
        whole
    }
}
