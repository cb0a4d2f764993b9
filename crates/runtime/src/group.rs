//! A group of workers: a thread and a runtime for each core.

pub use crate::affinity::pin_to_core;
use crate::executor::handle::catch_panics;
use crate::{Builder, RemoteJoinHandle, sync::lock, sys};
use std::sync::{Condvar, Mutex, PoisonError, mpsc};
use std::{future::Future, io, thread};

/// Runs `body` once for every entry of `cores`, each on its own thread with its own runtime, pinned if the entry names a
/// core; waits for all and returns their results in order. All or none: if one thread cannot be set up, `body` does not
/// run and every result is that error. A panic continues in the caller.
///
/// `body` is called on the new thread, inside `block_on`, with the index of the worker. In a simulated world (feature `sim`)
/// this is an error: [`spawn`] is simulated.
pub fn run<T, F, B>(builder: &Builder, cores: &[Option<usize>], body: B) -> Vec<io::Result<T>>
where
    T: Send,
    F: Future<Output = T>,
    B: Fn(usize) -> F + Sync,
{
    if sys::is_simulated() {
        let refused =
            || io::Error::new(io::ErrorKind::Unsupported, "a simulated world has no threads: use group::spawn");
        return cores.iter().map(|_| Err(refused())).collect();
    }
    let (body, gate) = (&body, &Gate { state: Mutex::new(Ok(0)), changed: Condvar::new() });
    let one = |index: usize, core: Option<usize>| -> io::Result<T> {
        let runtime = core.map_or(Ok(()), pin_to_core).and_then(|()| builder.clone().build());
        gate.arrive(&runtime);
        gate.wait_for(cores.len())?;
        Ok(runtime?.block_on(async { body(index).await }))
    };
    thread::scope(|scope| {
        let start = |(index, core): (usize, &Option<usize>)| {
            let core = *core;
            let name = core.map_or_else(|| format!("worker-{index}"), |core| format!("worker-{index}@{core}"));
            let thread = thread::Builder::new().name(name).spawn_scoped(scope, move || one(index, core));
            if thread.is_err() {
                gate.arrive(&thread);
            }
            thread
        };
        let threads: Vec<_> = cores.iter().enumerate().map(start).collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<T>>| {
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        threads.into_iter().map(|thread| thread.and_then(join)).collect()
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
    thread::Builder::new().name(name.to_owned()).spawn(move || {
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
    })?;
    is_set_up.recv().unwrap_or_else(|_| Err(io::Error::other("the thread of a worker has ended")))?;
    Ok(RemoteJoinHandle { result })
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
