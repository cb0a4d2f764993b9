//! Process-wide pools of threads for blocking work, grown on demand: one for the program's work, one for looking up names, which
//! so does not wait for the other.

use crate::task::{JoinError, catch_panic};
use crate::{RemoteJoinHandle, affinity, executor, sync::lock, sys};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{collections::VecDeque, io, thread, time::Duration};

/// Maximum of threads. Blocking work waits, so the number of cores is no bound: 64 fill a disk's queue of some 32 requests
/// and tolerate a few dozen lookups at an unreachable name server. Many more would crowd the cores when all wake at once.
const MAX_THREADS: usize = 64;
/// Lookups beside each other: the system's resolver waits for a name server for 5 s and more.
const MAX_LOOKUPS: usize = 16;
const KEEP_ALIVE: Duration = Duration::from_secs(10);

static POOL: Pool = Pool::new("blocking", MAX_THREADS);
static LOOKUPS: Pool = Pool::new("lookup", MAX_LOOKUPS);

/// Sets the most threads for [`spawn_blocking`] (64 by default) and for looking up names (16): for the process, from now on. With
/// fewer than there are, those that run finish their work first.
///
/// # Panics
/// If one is 0.
pub fn set_blocking_threads(work: usize, lookups: usize) {
    assert!(work > 0 && lookups > 0, "blocking work needs a thread");
    POOL.most.store(work, Ordering::Relaxed);
    LOOKUPS.most.store(lookups, Ordering::Relaxed);
}

/// Runs `work`, which may block, on a thread of the process-wide pool. At most 64 such threads exist, unless
/// [`set_blocking_threads`] says otherwise; further work queues in order; a thread without work ends after 10 s.
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
    spawn_on(&POOL, work)
}

/// As [`spawn_blocking`], for looking up a name.
pub(crate) fn spawn_lookup<T, F>(work: F) -> RemoteJoinHandle<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    spawn_on(&LOOKUPS, work)
}

fn spawn_on<T, F>(pool: &'static Pool, work: F) -> RemoteJoinHandle<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    let (sender, result) = oneshot::channel();
    let hold = executor::try_current(|worker| worker.hold_clock()).flatten();
    if sys::is_simulated() {
        let _ = sender.send(catch_unwind(AssertUnwindSafe(work)).map_err(JoinError::panic));
        return RemoteJoinHandle { result };
    }
    pool.enqueue(Box::new(move |thread| {
        let output = match thread {
            Ok(()) => catch_unwind(AssertUnwindSafe(work)).map_err(JoinError::panic),
            Err(error) => Err(JoinError::no_thread(error)),
        };
        // Without a handle, the output is dropped here.
        let _ = sender.send(output);
        drop(hold);
    }));
    RemoteJoinHandle { result }
}

/// Called once: to do the work, or with the error of starting a thread.
type Work = Box<dyn FnOnce(io::Result<()>) + Send>;

struct Pool {
    /// That of its threads.
    name: &'static str,
    most: AtomicUsize,
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
    const fn new(name: &'static str, most: usize) -> Self {
        let state = Mutex::new(State { queue: VecDeque::new(), threads: 0, waiting: 0 });
        Self { name, most: AtomicUsize::new(most), state, work: Condvar::new() }
    }

    fn enqueue(&'static self, work: Work) {
        let mut state = lock(&self.state);
        state.queue.push_back(work);
        if state.waiting >= state.queue.len() {
            return self.work.notify_one();
        }
        if state.threads >= self.most.load(Ordering::Relaxed) {
            return;
        }
        state.threads += 1;
        drop(state);
        let started = thread::Builder::new().name(self.name.to_owned()).spawn(|| {
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
