//! Work that blocks, on threads of its own: a pool of the whole process, grown as it is needed.
//!
//! The pool's threads never run on a worker's account: they wait for disks and name servers, not for each other.

use crate::{
    affinity,
    sync::oneshot::{Receiver, oneshot},
    task::{JoinError, catch_panic},
};
use std::{
    collections::VecDeque,
    fmt,
    future::Future,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    pin::Pin,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
    task::{Context, Poll},
    thread,
    time::Duration,
};

/// Threads at most. Blocking work waits, so the number of cores is no measure for it: a disk's queue is full with some
/// 32 requests, and a few dozen lookups may sit out a dead name server before others have to queue. Many more would only
/// crowd the workers' cores when all of them are done waiting at once.
const MOST: usize = 64;
/// How long a thread waits for more work before it ends.
const IDLE: Duration = Duration::from_secs(10);

static POOL: Pool = Pool::new(MOST, IDLE);

/// Runs `work`, which may block, on a thread of the process-wide pool; returns the future of its output. At most 64 such
/// threads exist, more work queues in order, and a thread without work ends after 10 s.
///
/// The work begins now and is finished also if the future is dropped, except that a process that exits does not wait for
/// it. Not for work that never ends: give that a thread of its own.
///
/// ```
/// use brunt_runtime::{Runtime, blocking};
///
/// let text = Runtime::new()?.block_on(blocking(|| std::fs::read_to_string("/proc/self/comm")));
/// assert!(!text.unwrap()?.is_empty());
/// # std::io::Result::Ok(())
/// ```
///
/// # Errors
/// When the work panicked, or when no thread could be started for it.
pub fn blocking<T, F>(work: F) -> Blocking<T>
where
    T: Send + 'static,
    F: FnOnce() -> T + Send + 'static,
{
    POOL.run(work)
}

/// The future of [`blocking`]'s work.
#[must_use = "the work is done all the same, but nobody learns how it ended"]
pub struct Blocking<T> {
    result: Receiver<Result<T, JoinError>>,
}

impl<T> Future for Blocking<T> {
    type Output = Result<T, JoinError>;
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let result = Pin::new(&mut self.result).poll(cx);
        result.map(|result| result.expect("the pool says how every work ended, once"))
    }
}

impl<T> fmt::Debug for Blocking<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Blocking").finish_non_exhaustive()
    }
}

/// Called once: to do the work, or to say that no thread can.
type Work = Box<dyn FnOnce(io::Result<()>) + Send>;

struct Pool {
    most: usize,
    idle: Duration,
    state: Mutex<State>,
    work: Condvar,
}

struct State {
    queue: VecDeque<Work>,
    threads: usize,
    /// Of these, how many wait for work, or have been called to it and not come yet.
    waiting: usize,
}

impl Pool {
    const fn new(most: usize, idle: Duration) -> Self {
        let state = State { queue: VecDeque::new(), threads: 0, waiting: 0 };
        Self { most, idle, state: Mutex::new(state), work: Condvar::new() }
    }

    fn run<T, F>(&'static self, work: F) -> Blocking<T>
    where
        T: Send + 'static,
        F: FnOnce() -> T + Send + 'static,
    {
        let (sender, result) = oneshot();
        self.enqueue(Box::new(move |thread| {
            let ended = match thread {
                Ok(()) => catch_unwind(AssertUnwindSafe(work)).map_err(JoinError::panic),
                Err(error) => Err(JoinError::no_thread(error)),
            };
            // If nobody waits any more, the output ends here.
            let _ = sender.send(ended);
        }));
        Blocking { result }
    }

    fn enqueue(&'static self, work: Work) {
        let mut state = self.lock();
        state.queue.push_back(work);
        if state.waiting >= state.queue.len() {
            return self.work.notify_one();
        }
        if state.threads == self.most {
            return;
        }
        state.threads += 1;
        drop(state);
        let started = thread::Builder::new().name("blocking".to_owned()).spawn(|| {
            affinity::reset();
            self.serve();
        });
        if let Err(error) = started {
            self.do_without(&error);
        }
    }

    /// A thread's life.
    fn serve(&self) {
        let mut state = self.lock();
        loop {
            if let Some(work) = state.queue.pop_front() {
                drop(state);
                // The destructor of an output that nobody wants may panic.
                catch_panic(|| work(Ok(())));
                state = self.lock();
                continue;
            }
            state.waiting += 1;
            let nothing_to_do = |state: &mut State| state.queue.is_empty();
            let waited = self.work.wait_timeout_while(state, self.idle, nothing_to_do);
            let timeout;
            (state, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            state.waiting -= 1;
            if timeout.timed_out() {
                state.threads -= 1;
                return;
            }
        }
    }

    /// A thread could not be started. The others will come to what is queued; if there are none, nobody will.
    fn do_without(&self, error: &io::Error) {
        let mut state = self.lock();
        state.threads -= 1;
        let abandoned = if state.threads == 0 { std::mem::take(&mut state.queue) } else { VecDeque::new() };
        drop(state);
        for work in abandoned {
            catch_panic(|| work(Err(io::Error::new(error.kind(), error.to_string()))));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
