//! A group of workers: a thread and a runtime for each core.

pub use crate::affinity::pin_to_core;
use crate::{Builder, sync::lock};
use std::sync::{Condvar, Mutex, PoisonError};
use std::{future::Future, io, thread};

/// Runs `body` once for every entry of `cores`, each on its own thread with its own runtime, pinned if the entry names a
/// core; waits for all and returns their results in order. All or none: if one thread cannot be set up, `body` does not
/// run and every result is that error. A panic continues in the caller.
///
/// `body` is called on the new thread, inside `block_on`, with the index of the worker.
pub fn run<T, F, B>(builder: &Builder, cores: &[Option<usize>], body: B) -> Vec<io::Result<T>>
where
    T: Send,
    F: Future<Output = T>,
    B: Fn(usize) -> F + Sync,
{
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
