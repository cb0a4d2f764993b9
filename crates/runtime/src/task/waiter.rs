//! Who waits for an event: a task of this worker as a packed word, or a foreign waker by reference.
//!
//! The common case, a future polled directly by one of our tasks, costs no clone and no reference count.

use crate::{
    slab::{Key, Slab},
    task::{Token, catch_panic, queue::Tasks, waker},
};
use std::task::{Context, Waker};

/// Nobody, one of our tasks, or an index into [`Wakers::foreign`]. Four-byte alignment keeps connection slots small.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiter([u32; 2]);

impl Waiter {
    fn word(self) -> u64 {
        u64::from(self.0[0]) | u64::from(self.0[1]) << 32
    }

    fn from_word(word: u64) -> Self {
        Self([word as u32, (word >> 32) as u32])
    }

    #[inline]
    pub fn is_none(self) -> bool {
        self.0 == [0, 0]
    }
}

/// What is to become of a foreign waker. Both run foreign code: dropping the last one of a task drops that task.
pub(crate) enum Due {
    Wake(Waker),
    Drop(#[expect(dead_code, reason = "it is held for its destructor")] Waker),
}

impl Due {
    /// Does it. Nothing of the worker may be borrowed. A panic of one must not keep the others from being woken.
    pub fn run(self) {
        catch_panic(move || {
            if let Self::Wake(waker) = self {
                waker.wake();
            }
        });
    }
}

/// All that can be woken: our tasks, and wakers that are not ours (a combinator with wakers of its own, another
/// executor) with those of them that are due.
///
/// A foreign waker runs foreign code, so it is neither woken nor dropped while the worker's state is borrowed: it is put
/// on `due`.
pub(crate) struct Wakers {
    foreign: Slab<Option<Waker>>,
    due: Vec<Due>,
    /// The tasks of this worker.
    pub tasks: Tasks,
}

impl Wakers {
    pub fn new() -> Self {
        Self { foreign: Slab::new(), due: Vec::new(), tasks: Tasks::new() }
    }

    /// Notes that the task behind `cx` waits; replaces whoever waited before.
    #[inline]
    pub fn park(&mut self, waiter: &mut Waiter, cx: &Context<'_>) {
        match waker::token(cx.waker()) {
            Some(token) if !token.is_foreign() => {
                if !waiter.is_none() && Token(waiter.word()).is_foreign() {
                    self.forget(waiter);
                }
                *waiter = Waiter::from_word(token.0);
            }
            _ => self.park_foreign(waiter, cx.waker()),
        }
    }

    #[cold]
    fn park_foreign(&mut self, waiter: &mut Waiter, waker: &Waker) {
        // Polled again in vain, as in a select: nothing changes.
        let token = Token(waiter.word());
        if !waiter.is_none()
            && token.is_foreign()
            && let Some(Some(parked)) = self.foreign.get(token.key())
            && parked.will_wake(waker)
        {
            return;
        }
        self.forget(waiter);
        let key = self.foreign.insert(Some(waker.clone()));
        *waiter = Waiter::from_word(Token::foreign(key).0);
    }

    /// Wakes whoever waits, if anybody.
    #[inline(always)]
    pub fn wake(&mut self, waiter: &mut Waiter) {
        if waiter.is_none() {
            return;
        }
        let token = Token(waiter.word());
        *waiter = Waiter::default();
        if token.is_foreign() {
            self.wake_foreign(token);
        } else {
            self.tasks.wake(token);
        }
    }

    #[cold]
    fn wake_foreign(&mut self, token: Token) {
        self.due.extend(self.foreign.remove(token.key()).flatten().map(Due::Wake));
    }

    /// Forgets whoever waits, without waking it: a combinator that was woken for having polled would poll for ever.
    pub fn forget(&mut self, waiter: &mut Waiter) {
        let token = Token(waiter.word());
        if !waiter.is_none() && token.is_foreign() {
            let key: Key = token.key();
            self.due.extend(self.foreign.remove(key).flatten().map(Due::Drop));
        }
        *waiter = Waiter::default();
    }

    /// Foreign wakers to settle now that nothing is borrowed.
    pub fn take_due(&mut self) -> Vec<Due> {
        std::mem::take(&mut self.due)
    }

    #[cfg(test)]
    pub fn foreign_count(&self) -> usize {
        self.foreign.len()
    }

    /// Nobody is ready and nothing is due.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.tasks.is_idle() && self.due.is_empty()
    }

    #[inline]
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }
}
