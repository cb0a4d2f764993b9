//! What a session and its load threads tell each other.

use crate::schedule::Schedule;
use std::future::poll_fn;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

/// Times are in nanoseconds of the run's clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Command {
    /// Open the connections again that were lost between slices.
    Reopen,
    /// Make load from `start` on, measured from `open` on, until `Shared::close`; `rate` requests a second over all
    /// threads, `None` in a closed loop.
    Load { start: u64, open: u64, seed: u64, rate: Option<f64> },
}

/// The last command to all load threads of a session. A thread that waits for the next one sleeps in the kernel.
#[derive(Debug, Default)]
pub struct Commands {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Counted from 1; 0 before the first.
    number: u64,
    last: Option<Command>,
    waiting: Vec<Waker>,
}

impl Commands {
    pub fn give(&self, command: Command) {
        let mut state = self.lock();
        state.number += 1;
        state.last = Some(command);
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Waits for the command behind number `seen`, and sets `seen` to it. None is skipped: the session gives a command only
    /// after every thread has answered the one before.
    pub async fn next(&self, seen: &mut u64) -> Command {
        poll_fn(|cx| {
            let mut state = self.lock();
            match state.last {
                Some(command) if state.number > *seen => {
                    *seen = state.number;
                    Poll::Ready(command)
                }
                _ => {
                    if !state.waiting.iter().any(|waker| waker.will_wake(cx.waker())) {
                        state.waiting.push(cx.waker().clone());
                    }
                    Poll::Pending
                }
            }
        })
        .await
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A load thread's last word on a slice, behind its intervals.
pub struct Drained {
    /// The thread's schedule as far as it was taken; `None` in a closed loop.
    pub schedule: Option<Schedule>,
    /// CPU time of the thread from the command to the end of the drain, in nanoseconds.
    pub cpu_ns: u64,
    /// Time of the last reply or failure after the window; 0 if there was none.
    pub last_ns: u64,
    /// Requests that were due in the window and taken from the schedule, but never sent.
    pub unsent: u64,
    /// Requests that were still in flight, if the drain was cut short.
    pub outstanding: u64,
}
