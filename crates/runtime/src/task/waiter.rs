//! Waiters for an event: a task of this worker as a packed word, or a foreign waker by reference.
//!
//! The common case, a future polled by a task of this worker, costs no clone and no reference count.

use super::{FOREIGN, Token, catch_panic, queue::Tasks, waker};
use crate::slab::Slab;
use std::rc::Rc;
use std::task::{Context, Waker};

/// Empty (0), the token of a task, or an index into [`Wakers::foreign`]. In two halves, to be aligned to four bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Waiter([u32; 2]);

impl Waiter {
    #[inline]
    fn new(Token(word): Token) -> Self {
        Self([word as u32, (word >> 32) as u32])
    }

    #[inline]
    fn token(self) -> Token {
        Token(u64::from(self.0[0]) | u64::from(self.0[1]) << 32)
    }

    #[inline]
    pub fn is_none(self) -> bool {
        self == Self::default()
    }

    /// The task that waits; `None` for a foreign waker.
    #[cfg(any(test, feature = "sim"))]
    pub fn task(self) -> Option<Token> {
        Some(self.token()).filter(|token| !token.is_foreign())
    }

    #[inline]
    fn is_foreign(self) -> bool {
        // The number of a worker is never that of a foreign token, so an empty waiter is not foreign.
        self.token().is_foreign()
    }
}

/// A foreign waker to wake or drop once nothing is borrowed, as both run foreign code.
pub(crate) enum Due {
    Wake(Waker),
    Drop(#[expect(dead_code, reason = "held for its destructor")] Waker),
}

impl Due {
    /// Must be called with nothing of the worker borrowed. A panic does not keep other wakers from being used.
    pub fn run(self) {
        catch_panic(move || {
            if let Self::Wake(waker) = self {
                waker.wake();
            }
        });
    }
}

/// Registers waiters and wakes them: tasks of this worker at once, foreign wakers (of combinators, other executors) later.
///
/// Invariant: a foreign waker is neither woken nor dropped while the worker is borrowed, but put on `due`. It is *cloned*
/// under the borrow. That is sound: a clone that calls into the runtime meets a borrowed `RefCell` and panics, and
/// [`park`](Self::park) has changed nothing by then that the panic would leave half done (see the test below).
pub(crate) struct Wakers {
    pub foreign: Slab<Option<Waker>>,
    due: Vec<Due>,
    pub tasks: Rc<Tasks>,
}

impl Wakers {
    pub fn new(tasks: Rc<Tasks>) -> Self {
        Self { foreign: Slab::new(), due: Vec::new(), tasks }
    }

    /// Registers the task behind `cx`; replaces the waiter registered before.
    #[inline]
    pub fn park(&mut self, waiter: &mut Waiter, cx: &Context<'_>) {
        match waker::token(cx.waker()) {
            Some(token) if !token.is_foreign() => {
                if waiter.is_foreign() {
                    self.forget(waiter);
                }
                *waiter = Waiter::new(token);
            }
            _ => self.park_foreign(waiter, cx.waker()),
        }
    }

    #[cold]
    fn park_foreign(&mut self, waiter: &mut Waiter, waker: &Waker) {
        // A select polls all its futures when one is woken: usually nothing changes.
        if waiter.is_foreign()
            && let Some(Some(parked)) = self.foreign.get(waiter.token().key())
            && parked.will_wake(waker)
        {
            return;
        }
        self.forget(waiter);
        let waker = waker.clone();
        *waiter = Waiter::new(Token::new(FOREIGN, self.foreign.insert(Some(waker))));
    }

    /// Wakes the waiter, if there is one, and empties it.
    #[inline(always)]
    pub fn wake(&mut self, waiter: &mut Waiter) {
        if waiter.is_none() {
            return;
        }
        let token = std::mem::take(waiter).token();
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

    /// Empties the waiter without waking it: a combinator woken because it polled would poll forever.
    pub fn forget(&mut self, waiter: &mut Waiter) {
        let waiter = std::mem::take(waiter);
        if waiter.is_foreign() {
            self.due.extend(self.foreign.remove(waiter.token().key()).flatten().map(Due::Drop));
        }
    }

    /// Foreign wakers to use now that nothing is borrowed.
    pub fn take_due(&mut self) -> Vec<Due> {
        std::mem::take(&mut self.due)
    }

    #[inline]
    pub fn has_due(&self) -> bool {
        !self.due.is_empty()
    }

    /// No task is ready and no foreign waker is due.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.tasks.is_idle() && self.due.is_empty()
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use crate::{net::TcpListener, spawn, testing};
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::task::{Context, RawWaker, RawWakerVTable, Waker};
    use std::{future::Future, pin::pin, ptr};

    /// A waker whose clone spawns a task, and so calls into the runtime under the borrow.
    fn reentrant() -> Waker {
        const VTABLE: RawWakerVTable = RawWakerVTable::new(
            |_| {
                crate::metrics();
                RawWaker::new(ptr::null(), &VTABLE)
            },
            |_| (),
            |_| (),
            |_| (),
        );
        // SAFETY: the functions use no data.
        unsafe { Waker::new(ptr::null(), &VTABLE) }
    }

    #[test]
    fn a_waker_whose_clone_calls_the_runtime_panics_and_leaves_it_usable() {
        for runtime in testing::runtimes() {
            runtime.block_on(async {
                let listener = TcpListener::bind("127.0.0.1:0".parse().unwrap()).unwrap();
                let waker = reentrant();
                let polled = catch_unwind(AssertUnwindSafe(|| {
                    let _ = pin!(listener.accept()).poll(&mut Context::from_waker(&waker));
                }));
                assert!(polled.is_err(), "the clone ran with the runtime borrowed");
                let address = listener.local_addr().unwrap();
                let client = spawn(crate::net::TcpStream::connect(address));
                listener.accept().await.unwrap();
                client.await.unwrap().unwrap();
            });
        }
    }
}
