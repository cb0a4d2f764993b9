//! A process-wide pool of threads for blocking work, grown on demand.

use crate::task::{JoinError, catch_panic};
use crate::{RemoteJoinHandle, affinity, sync::lock, sys};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{collections::VecDeque, io, thread, time::Duration};

/// Maximum of threads. Blocking work waits, so the number of cores is no bound: 64 fill a disk's queue of some 32 requests
/// and tolerate a few dozen lookups at an unreachable name server. Many more would crowd the cores when all wake at once.
const MAX_THREADS: usize = 64;
const KEEP_ALIVE: Duration = Duration::from_secs(10);

static POOL: Pool =
    Pool { state: Mutex::new(State { queue: VecDeque::new(), threads: 0, waiting: 0 }), work: Condvar::new() };

/// Runs `work`, which may block, on a thread of the process-wide pool. At most 64 such threads exist; further work queues in
/// order; a thread without work ends after 10 s.
///
/// The work starts now and runs to its end even if the returned handle is dropped, but an exiting process does not wait for
/// it. Give work that never ends a thread of its own.
///
/// ```
/// use brunt_runtime::{Runtime, spawn_blocking};
///
/// let text = Runtime::new()?.block_on(spawn_blocking(|| std::fs::read_to_string("/proc/self/comm")));
/// assert!(!text.unwrap()?.is_empty());
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// If the work panicked, or no thread could be started for it.
pub fn spawn_blocking<T, F>(work: F) -> RemoteJoinHandle<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (sender, result) = oneshot::channel();
    if sys::is_simulated() {
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)).map_err(JoinError::panic));
        return RemoteJoinHandle { result };
    }
    POOL.enqueue(Box::new(move |thread| {
        let output = match thread {
            Ok(()) => catch_unwind(AssertUnwindSafe(work)).map_err(JoinError::panic),
            Err(error) => Err(JoinError::no_thread(error)),
        };
        // Without a handle, the output is dropped here.
        let _ = sender.send(output);
    }));
    RemoteJoinHandle { result }
}

/// Called once: to do the work, or with the error of starting a thread.
type Work = Box<dyn FnOnce(io::Result<()>) + Send>;

struct Pool {
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    queue: VecDeque<Work>,
    threads: usize,
    /// Threads waiting for work, or notified and not yet running.
    waiting: usize,
}

impl Pool {
    fn enqueue(&'static self, work: Work) {
        let mut state = lock(&self.state);
        state.queue.push_back(work);
        if state.waiting >= state.queue.len() {
            return self.work.notify_one();
        }
        if state.threads == MAX_THREADS {
            return;
        }
        state.threads += 1;
        drop(state);
        let started = thread::Builder::new().name("blocking".to_owned()).spawn(|| {
            affinity::reset();
            self.work_loop();
        });
        if let Err(error) = started {
            self.thread_failed(&error);
        }
    }

    fn work_loop(&self) {
        let mut state = lock(&self.state);
        loop {
            if let Some(work) = state.queue.pop_front() {
                drop(state);
                // The destructor of a dropped output may panic.
                catch_panic(|| work(Ok(())));
                state = lock(&self.state);
                continue;
            }
            state.waiting += 1;
            let no_work = |state: &mut State| state.queue.is_empty();
            let waited = self.work.wait_timeout_while(state, KEEP_ALIVE, no_work);
            let timeout;
            (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            if timeout.timed_out() {
                state.threads -= 1;
                return;
            }
        }
    }

    /// Handles a failed thread start: running threads will take the queued work; without any, the work fails.
    fn thread_failed(&self, error: &io::Error) {
        let mut state = lock(&self.state);
        state.threads -= 1;
        let abandoned = if state.threads == 0 { std::mem::take(&mut state.queue) } else { VecDeque::new() };
        drop(state);
        for work in abandoned {
            catch_panic(|| work(Err(io::Error::new(error.kind(), error.to_string()))));
        }
    }
}
