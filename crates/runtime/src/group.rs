//! A group of workers: a thread and a runtime for each core.

pub use crate::affinity::{allowed_cores, pin_to_core};
use crate::cancel::unless;
use crate::executor::handle::catch_panics;
use crate::named::named;
use crate::time::sleep;
use crate::{Builder, CancellationToken, JoinError, RemoteJoinHandle, Runtime, sync::lock, sys};
use std::future::Future;
use std::panic::resume_unwind;
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::{fmt, io, thread, time::Duration};

/// Runs `body` once for every entry of `cores`, each on its own thread with its own runtime, pinned if the entry names a
/// core; waits for all and returns their results in order. All or none: if one thread cannot be set up, `body` does not
/// run and every result is that error. A panic continues in the caller, after all have ended; [`run_together`] ends the others.
///
/// `body` is called on the new thread, inside `block_on`, with the index of the worker. In a simulated world (feature `sim`)
/// this is an error: [`spawn`] is simulated.
pub fn run<T, F, B>(builder: &Builder, cores: &[Option<usize>], body: B) -> Vec<io::Result<T>>
where
    T: Send,
    F: Future<Output = T>,
    B: Fn(usize) -> F + Sync,
{
    let one = |index, runtime: Runtime| runtime.block_on(async { body(index).await });
    let results = on_threads(builder, cores, one).into_iter();
    results.map(|result| result.map(|output| output.unwrap_or_else(|panic| resume_unwind(panic)))).collect()
}

/// A worker of [`run_together`].
#[derive(Debug)]
pub struct Member<V> {
    /// Its place in the list.
    pub index: usize,
    /// What was given to it.
    pub value: V,
    /// Cancelled when another worker has failed.
    pub stop: CancellationToken,
}

/// Why [`run_together`] has ended: the first worker that failed.
#[derive(Debug)]
pub struct Failure<E> {
    /// Its place in the list; `None` if not all workers could be set up, when none has run.
    pub worker: Option<usize>,
    /// How it failed.
    pub cause: Cause<E>,
}

/// How a worker of a group failed.
#[derive(Debug)]
pub enum Cause<E> {
    /// A thread, its core or its runtime cannot be had.
    Setup(io::Error),
    /// It returned an error.
    Error(E),
    /// It panicked.
    Panic(JoinError),
}

impl<E: fmt::Display> fmt::Display for Failure<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(worker) = self.worker {
            write!(f, "worker {worker}: ")?;
        }
        match &self.cause {
            Cause::Setup(error) => error.fmt(f),
            Cause::Error(error) => error.fmt(f),
            Cause::Panic(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug + fmt::Display> std::error::Error for Failure<E> {}

/// Runs a worker for every entry of `members`, a core and a value that the worker owns, until all have ended well or one fails. The
/// first error or panic cancels [`Member::stop`] of the others, which have `grace` to end; then their futures are dropped. As
/// [`run`], it is all or none, and an error in a simulated world.
///
/// ```
/// use brunt_runtime::{Runtime, group, time::sleep};
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// let members = vec![(None, "fails"), (None, "would run for an hour")];
/// let failure = group::run_together(&Runtime::builder(), members, Duration::ZERO, async |member| {
///     if member.value == "fails" {
///         return Err("out of luck");
///     }
///     Ok(sleep(Duration::from_secs(3600)).await)
/// });
/// assert_eq!(failure.unwrap_err().to_string(), "worker 0: out of luck");
/// assert!(start.elapsed() < Duration::from_secs(60));
/// ```
///
/// # Errors
/// The first failure.
pub fn run_together<V, T, E, B>(
    builder: &Builder,
    members: Vec<(Option<usize>, V)>,
    grace: Duration,
    body: B,
) -> Result<Vec<T>, Failure<E>>
where
    V: Send,
    T: Send,
    E: Send,
    B: AsyncFn(Member<V>) -> Result<T, E> + Sync,
{
    let (cores, values): (Vec<_>, Vec<_>) =
        members.into_iter().map(|(core, value)| (core, Mutex::new(Some(value)))).unzip();
    let (stop, first) = (CancellationToken::new(), Mutex::new(None));
    let one = |index: usize, runtime: Runtime| {
        let value = lock(&values[index]).take().expect("each worker takes its value once");
        let stopped = stop.child_token();
        let member = Member { index, value, stop: stopped.clone() };
        let output = runtime.block_on(unless(catch_panics(body(member)), async {
            stopped.cancelled().await;
            sleep(grace).await;
        }));
        let cause = match output? {
            Ok(Ok(output)) => return Some(output),
            Ok(Err(error)) => Cause::Error(error),
            Err(panic) => Cause::Panic(panic),
        };
        lock(&first).get_or_insert(Failure { worker: Some(index), cause });
        stop.cancel();
        None
    };
    let mut outputs = Vec::new();
    for result in on_threads(builder, &cores, one) {
        match result {
            // Its destructors have panicked: the failure of another worker is what ended it, if there is one.
            Ok(Err(panic)) => {
                lock(&first).get_or_insert(Failure {
                    worker: Some(outputs.len()),
                    cause: Cause::Panic(JoinError::panic(panic)),
                });
                outputs.push(None);
            }
            Ok(Ok(output)) => outputs.push(output),
            Err(error) => return Err(Failure { worker: None, cause: Cause::Setup(error) }),
        }
    }
    match first.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some(failure) => Err(failure),
        None => Ok(outputs.into_iter().flatten().collect()),
    }
}

/// Runs `one` on a thread of its own for every core, with a runtime of that thread, once all are set up.
fn on_threads<T: Send>(
    builder: &Builder,
    cores: &[Option<usize>],
    one: impl Fn(usize, Runtime) -> T + Sync,
) -> Vec<io::Result<thread::Result<T>>> {
    if sys::is_simulated() {
        let refused =
            || io::Error::new(io::ErrorKind::Unsupported, "a simulated world has no threads: use group::spawn");
        return cores.iter().map(|_| Err(refused())).collect();
    }
    let (one, gate) = (&one, &Gate { state: Mutex::new(Ok(0)), changed: Condvar::new() });
    let on_its_thread = |index: usize, core: Option<usize>| -> io::Result<T> {
        let runtime = core.map_or(Ok(()), pin_to_core).and_then(|()| builder.clone().build());
        gate.arrive(&runtime);
        gate.wait_for(cores.len())?;
        Ok(one(index, runtime?))
    };
    thread::scope(|scope| {
        let start = |(index, core): (usize, &Option<usize>)| {
            let core = *core;
            let name = core.map_or_else(|| format!("worker-{index}"), |core| format!("worker-{index}@{core}"));
            let thread = thread::Builder::new().name(name).spawn_scoped(scope, move || on_its_thread(index, core));
            let thread = thread.map_err(not_started);
            if thread.is_err() {
                gate.arrive(&thread);
            }
            thread
        };
        let threads: Vec<_> = cores.iter().enumerate().map(start).collect();
        let joined = threads.into_iter().map(|thread| thread.map(thread::ScopedJoinHandle::join));
        joined
            .map(|joined| match joined? {
                Ok(output) => output.map(Ok),
                Err(panic) => Ok(Err(panic)),
            })
            .collect()
    })
}

/// Starts a worker on a thread of its own, with its own runtime, pinned if a core is named; returns when its runtime is set up.
/// `body` is called there, inside `block_on`, and the handle returns its output, or its panic. Dropping the handle detaches
/// the worker.
///
/// In a simulated world (feature `sim`) the worker is one of the world and not a thread.
///
/// # Errors
/// The thread, its core or its runtime cannot be had.
pub fn spawn<T, F, B>(builder: &Builder, name: &str, core: Option<usize>, body: B) -> io::Result<RemoteJoinHandle<T>>
where
    T: Send + 'static,
    F: Future<Output = T> + 'static,
    B: FnOnce() -> F + Send + 'static,
{
    let (sender, result) = oneshot::channel();
    #[cfg(any(test, feature = "sim"))]
    if sys::is_simulated() {
        let main = async move {
            let output = catch_panics(async move { body().await }).await;
            crate::sim::end_worker().await;
            // The handle may have been dropped.
            let _ = sender.send(output);
        };
        crate::sim::spawn_worker(builder, main)?;
        return Ok(RemoteJoinHandle { result });
    }
    let (builder, (setup, is_set_up)) = (builder.clone(), mpsc::channel());
    let thread = thread::Builder::new().name(name.to_owned()).spawn(move || {
        let built = core.map_or(Ok(()), pin_to_core).and_then(|()| builder.build());
        let (runtime, outcome) = match built {
            Ok(runtime) => (Some(runtime), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The starter waits for it.
        let _ = setup.send(outcome);
        if let Some(runtime) = runtime {
            let output = runtime.block_on(catch_panics(async move { body().await }));
            drop(runtime);
            let _ = sender.send(output);
        }
    });
    thread.map_err(not_started)?;
    is_set_up.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of a worker has ended")))?;
    Ok(RemoteJoinHandle { result })
}

#[cold]
fn not_started(error: io::Error) -> io::Error {
    named("cannot start the thread of a worker", error)
}

/// Holds the threads back until all are set up or one has failed.
struct Gate {
    /// How many are set up, or the first error.
    state: Mutex<Result<usize, (io::ErrorKind, String)>>,
    changed: Condvar,
}

impl Gate {
    fn arrive<T>(&self, setup: &io::Result<T>) {
        let mut state = lock(&self.state);
        if let Ok(arrived) = &mut *state {
            match setup {
                Ok(_) => *arrived += 1,
                Err(error) => *state = Err((error.kind(), error.to_string())),
            }
        }
        self.changed.notify_all();
    }

    fn wait_for(&self, all: usize) -> io::Result<()> {
        let state = lock(&self.state);
        let waiting = |state: &mut Result<usize, _>| matches!(state, Ok(arrived) if *arrived < all);
        let state = self.changed.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner);
        state.as_ref().map(|_| ()).map_err(|(kind, text)| io::Error::new(*kind, text.clone()))
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;
    use crate::{Runtime, sim::World, time};
    use std::time::Duration;

    /// The output of a worker, the panic of another, and an error for a core that does not exist.
    async fn workers() {
        let builder = Builder::default();
        let sum = spawn(&builder, "adds", None, || async {
            time::sleep(Duration::from_millis(1)).await;
            crate::spawn(async { 1 + 1 }).await.unwrap()
        });
        assert_eq!(sum.unwrap().await.unwrap(), 2);
        let panics = spawn(&builder, "panics", None, || async { panic!("on purpose") });
        assert!(panics.unwrap().await.is_err_and(|error: crate::JoinError| error.is_panic()));
    }

    #[test]
    fn a_worker_returns_its_output_or_its_panic_on_a_thread_and_in_a_world() {
        Runtime::new().unwrap().block_on(workers());
        assert!(spawn(&Builder::default(), "nowhere", Some(100_000), || async {}).is_err());
        let world = World::new(1);
        world.run(workers()).unwrap();
        assert!(run(&Builder::default(), &[None], async |_| ())[0].is_err());
    }
}
