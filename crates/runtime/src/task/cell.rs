//! One task: its future, then its output, in one allocation shared by the run queue and the join handle.
//!
//! ```text
//!            run: Pending
//!            +--------+
//!            v        |
//!   (new) -> idle -> POLLING -> DONE      run: Ready or a panic
//!            |                   ^
//!            +-- ABORTED --------+        request_abort, then run; or cancel
//! ```
//! Invariant: `stage` is touched only while `POLLING` is set by the toucher or after `DONE`.

use super::{JoinError, catch_panic};
use std::cell::{Cell, RefCell, UnsafeCell};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::task::{Context, Poll, Waker};
use std::{future::Future, pin::Pin};

/// The future is being polled or dropped, further up the stack.
const POLLING: u8 = 1;
/// The task was asked to end.
const ABORTED: u8 = 2;
/// The output is there, or has been taken.
const DONE: u8 = 4;

enum Stage<F: Future> {
    Running(F),
    Done(Result<F::Output, JoinError>),
    Empty,
}

/// Lives on one thread: `Rc`, no atomics.
pub(crate) struct TaskCell<F: Future> {
    stage: UnsafeCell<Stage<F>>,
    state: Cell<u8>,
    joiner: RefCell<Option<Waker>>,
}

/// What a poll of a task led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Progress {
    Pending,
    Ended,
    Panicked,
}

/// The run queue's view of a task.
pub(crate) trait Runnable {
    /// Polls once. Does not panic when the future does.
    fn run(&self, cx: &mut Context<'_>) -> Progress;
    /// Ends the task now; if it is being polled, when that poll returns.
    fn cancel(&self) -> Progress;
    /// The type of its future, which names the function that made it.
    #[cfg(any(test, feature = "sim"))]
    fn name(&self) -> &'static str;
}

/// The join handle's view of a task.
pub(crate) trait Joinable<T>: Abortable {
    fn poll_join(&self, cx: &Context<'_>) -> Poll<Result<T, JoinError>>;
}

/// The view of a task that may end it.
pub(crate) trait Abortable {
    fn request_abort(&self);
    fn is_done(&self) -> bool;
}

impl<F: Future> TaskCell<F> {
    pub fn new(future: F) -> Self {
        Self { stage: UnsafeCell::new(Stage::Running(future)), state: Cell::new(0), joiner: RefCell::new(None) }
    }

    #[inline]
    fn has(&self, bits: u8) -> bool {
        self.state.get() & bits != 0
    }

    #[inline]
    fn set(&self, bits: u8) {
        self.state.set(self.state.get() | bits);
    }

    #[inline]
    fn clear(&self, bits: u8) {
        self.state.set(self.state.get() & !bits);
    }

    /// Replaces the future by its result and wakes the joiner. A panic in the future's destructor becomes the result.
    fn finish(&self, result: Result<F::Output, JoinError>) -> Progress {
        self.set(POLLING);
        let dropped = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the cell lives on one thread, and `POLLING` keeps `run` and `cancel` away while the future's destructor
            // runs; no reference into the stage exists. The future is dropped in place: pinned.
            unsafe { *self.stage.get() = Stage::Empty };
        }));
        self.clear(POLLING);
        let result = match dropped {
            Ok(()) => result,
            Err(panic) => {
                // The output is dropped as well; its destructor may panic too.
                catch_panic(|| drop(result));
                Err(JoinError::panic(panic))
            }
        };
        let panicked = result.as_ref().is_err_and(JoinError::is_panic);
        // SAFETY: as above; the stage is `Empty`, so this assignment drops nothing of the user's.
        unsafe { *self.stage.get() = Stage::Done(result) };
        self.set(DONE);
        let joiner = self.joiner.borrow_mut().take();
        if let Some(joiner) = joiner {
            // It may be foreign; its panic is not this task's.
            catch_panic(|| joiner.wake());
        }
        if panicked { Progress::Panicked } else { Progress::Ended }
    }

    /// A poll of a task that is done, aborted, or being polled already.
    #[cold]
    fn run_special(&self) -> Progress {
        if self.has(DONE) {
            return Progress::Ended;
        }
        // A nested loop on the same worker does not exist; if it did, a second `&mut` to the future would be unsound.
        assert!(!self.has(POLLING), "a task was polled inside its own poll");
        self.finish(Err(JoinError::aborted()))
    }
}

impl<F: Future> Runnable for TaskCell<F> {
    #[inline]
    fn run(&self, cx: &mut Context<'_>) -> Progress {
        if self.state.get() != 0 {
            return self.run_special();
        }
        self.state.set(POLLING);
        let polled = catch_unwind(AssertUnwindSafe(|| {
            // SAFETY: the cell lives on one thread. `POLLING`, clear before and set during this poll, excludes other accesses.
            let Stage::Running(future) = (unsafe { &mut *self.stage.get() }) else {
                unreachable!("a task that is not done has a future")
            };
            // SAFETY: the cell is behind an `Rc` that is never unwrapped, and the future is only dropped in place.
            unsafe { Pin::new_unchecked(future) }.poll(cx)
        }));
        self.clear(POLLING);
        match polled {
            Ok(Poll::Pending) if self.has(ABORTED) => self.finish(Err(JoinError::aborted())),
            Ok(Poll::Pending) => Progress::Pending,
            Ok(Poll::Ready(output)) => self.finish(Ok(output)),
            Err(panic) => self.finish(Err(JoinError::panic(panic))),
        }
    }

    fn cancel(&self) -> Progress {
        self.set(ABORTED);
        if self.has(POLLING | DONE) { Progress::Pending } else { self.finish(Err(JoinError::aborted())) }
    }

    #[cfg(any(test, feature = "sim"))]
    fn name(&self) -> &'static str {
        std::any::type_name::<F>()
    }
}

impl<F: Future> Joinable<F::Output> for TaskCell<F> {
    fn poll_join(&self, cx: &Context<'_>) -> Poll<Result<F::Output, JoinError>> {
        if !self.has(DONE) {
            // The previous waker may be foreign: it is dropped when nothing is borrowed.
            let previous = self.joiner.replace(Some(cx.waker().clone()));
            drop(previous);
            return Poll::Pending;
        }
        // SAFETY: `DONE` is set, so the future is gone, nothing polls, and only the one join handle reads the stage.
        match std::mem::replace(unsafe { &mut *self.stage.get() }, Stage::Empty) {
            Stage::Done(result) => Poll::Ready(result),
            _ => panic!("a JoinHandle was polled after it had returned its result"),
        }
    }
}

impl<F: Future> Abortable for TaskCell<F> {
    fn request_abort(&self) {
        self.set(ABORTED);
    }

    fn is_done(&self) -> bool {
        self.has(DONE)
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use std::{future::poll_fn, rc::Rc};

    /// Runs a task that calls `inside` with itself in its poll; returns the outcome, and why there is no output.
    fn run(inside: impl Fn(&dyn Runnable, &mut Context<'_>) -> Poll<()> + 'static) -> (Progress, JoinError) {
        let slot: Rc<RefCell<Option<Rc<dyn Runnable>>>> = Rc::default();
        let inner = slot.clone();
        let cell = Rc::new(TaskCell::new(poll_fn(move |cx| {
            let me = inner.borrow().clone().expect("set below");
            inside(&*me, cx)
        })));
        *slot.borrow_mut() = Some(cell.clone());
        let cx = &mut Context::from_waker(Waker::noop());
        let progress = cell.run(cx);
        slot.borrow_mut().take();
        let Poll::Ready(Err(error)) = cell.poll_join(cx) else { panic!("the task has an output") };
        (progress, error)
    }

    #[test]
    fn a_poll_inside_a_poll_panics_and_the_task_ends_with_that_panic() {
        let (progress, error) = run(|me, cx| {
            me.run(cx);
            Poll::Ready(())
        });
        assert!(progress == Progress::Panicked && error.is_panic(), "{progress:?}, {error}");
    }

    #[test]
    fn a_task_cancelled_inside_its_poll_ends_when_the_poll_returns() {
        let (progress, error) = run(|me, _| {
            assert_eq!(me.cancel(), Progress::Pending);
            Poll::Pending
        });
        assert!(progress == Progress::Ended && error.is_aborted(), "{progress:?}, {error}");
    }
}
