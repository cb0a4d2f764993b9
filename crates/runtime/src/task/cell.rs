//! One task: its future, then its output, in one allocation shared by the run queue and the join handle.

use super::{catch_panic, join::JoinError};
use crate::executor;
use std::{
    cell::{Cell, RefCell, UnsafeCell},
    future::Future,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    task::{Context, Poll, Waker},
};

enum Stage<F: Future> {
    Running(F),
    Done(Result<F::Output, JoinError>),
    Empty,
}

/// The shared cell. It lives on one thread: `Rc`, no atomics.
pub(crate) struct TaskCell<F: Future> {
    stage: UnsafeCell<Stage<F>>,
    polling: Cell<bool>,
    aborted: Cell<bool>,
    done: Cell<bool>,
    joiner: RefCell<Option<Waker>>,
}

/// What the run queue needs of a task.
pub(crate) trait Runnable {
    /// Polls once; true when the task has ended. Never panics on the future's account.
    fn run(&self, cx: &mut Context<'_>) -> bool;
    /// Ends the task now, unless it is being polled (then it ends as soon as that poll returns).
    fn cancel(&self);
}

/// What the join handle needs of a task.
pub(crate) trait Joinable<T> {
    fn poll_join(&self, cx: &Context<'_>) -> Poll<Result<T, JoinError>>;
    fn request_abort(&self);
    fn is_done(&self) -> bool;
}

impl<F: Future> TaskCell<F> {
    pub fn new(future: F) -> Self {
        Self {
            stage: UnsafeCell::new(Stage::Running(future)),
            polling: Cell::new(false),
            aborted: Cell::new(false),
            done: Cell::new(false),
            joiner: RefCell::new(None),
        }
    }

    /// Replaces the future by its result and tells the joiner. The future's destructor is the user's code: a panic in it
    /// stays here.
    fn finish(&self, result: Result<F::Output, JoinError>) {
        self.polling.set(true);
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the cell lives on one thread and `polling` keeps `run` and `cancel` from coming back here while
            // the future's destructor runs; no reference into the stage exists. The future is dropped in place: pinned.
            unsafe { *self.stage.get() = Stage::Empty };
        }));
        self.polling.set(false);
        let result = match dropped {
            Ok(()) => result,
            Err(panic) => {
                // The output goes with it, and its destructor may panic as well.
                catch_panic(|| drop(result));
                Err(JoinError::panic(panic))
            }
        };
        if result.as_ref().is_err_and(JoinError::is_panic) {
            executor::current(|worker| worker.panicked_tasks.set(worker.panicked_tasks.get() + 1));
        }
        // SAFETY: as above; the stage is `Empty`, so nothing of the user's is dropped by this assignment.
        unsafe { *self.stage.get() = Stage::Done(result) };
        self.done.set(true);
        let joiner = self.joiner.borrow_mut().take();
        if let Some(joiner) = joiner {
            // Perhaps a foreign one, whose panic is not this task's.
            catch_panic(|| joiner.wake());
        }
    }
}

impl<F: Future> Runnable for TaskCell<F> {
    #[inline]
    fn run(&self, cx: &mut Context<'_>) -> bool {
        if self.done.get() {
            return true;
        }
        if self.aborted.get() {
            self.finish(Err(JoinError::aborted()));
            return true;
        }
        self.polling.set(true);
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the cell lives on one thread, and `polling` keeps everyone else from the stage during this poll.
            let Stage::Running(future) = (unsafe { &mut *self.stage.get() }) else {
                unreachable!("a task that is not done has a future")
            };
            // SAFETY: the cell is behind an `Rc` that is never unwrapped, and the future is only dropped in place.
            unsafe { Pin::new_unchecked(future) }.poll(cx)
        }));
        self.polling.set(false);
        match polled {
            Ok(Poll::Pending) if self.aborted.get() => self.finish(Err(JoinError::aborted())),
            Ok(Poll::Pending) => return false,
            Ok(Poll::Ready(output)) => self.finish(Ok(output)),
            Err(panic) => self.finish(Err(JoinError::panic(panic))),
        }
        true
    }

    fn cancel(&self) {
        self.aborted.set(true);
        if !self.polling.get() && !self.done.get() {
            self.finish(Err(JoinError::aborted()));
        }
    }
}

impl<F: Future> Joinable<F::Output> for TaskCell<F> {
    fn poll_join(&self, cx: &Context<'_>) -> Poll<Result<F::Output, JoinError>> {
        if !self.done.get() {
            // The waker of before is dropped when nothing is borrowed: it may be foreign.
            let before = self.joiner.replace(Some(cx.waker().clone()));
            drop(before);
            return Poll::Pending;
        }
        // SAFETY: `done` is set, so the future is gone, nobody polls, and the stage is only read by the one join handle.
        match std::mem::replace(unsafe { &mut *self.stage.get() }, Stage::Empty) {
            Stage::Done(result) => Poll::Ready(result),
            _ => panic!("a JoinHandle was polled after it had given its result"),
        }
    }

    fn request_abort(&self) {
        self.aborted.set(true);
    }

    fn is_done(&self) -> bool {
        self.done.get()
    }
}
