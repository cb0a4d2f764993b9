//! A group: one thread and one runtime a core.

pub use crate::affinity::pin_to_core;
use crate::{Builder, Runtime};
use std::{
    future::Future,
    io,
    sync::{Condvar, Mutex, PoisonError},
    thread,
};

/// Runs `body` once for every entry of `cores`, each on its own thread with its own runtime, pinned where a core is
/// named; waits for all and returns their results in order. All or none: if a thread cannot be set up, `body` is not run
/// at all and every result is that error. A panic goes on in the caller.
///
/// `body` is called on the new thread, inside `block_on`, with the index of the worker.
pub fn run<T, F, B>(builder: &Builder, cores: &[Option<usize>], body: B) -> Vec<io::Result<T>>
where
    T: Send,
    F: Future<Output = T>,
    B: Fn(usize) -> F + Sync,
{
    let (body, gate) = (&body, &Gate::default());
    let one = |index: usize, core: Option<usize>| -> io::Result<T> {
        let runtime = core.map_or(Ok(()), pin_to_core).and_then(|()| builder.clone().build());
        gate.arrive(&runtime);
        gate.wait_for(cores.len())?;
        Ok(runtime?.block_on(async { body(index).await }))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (cores.iter().enumerate())
            .map(|(index, core)| {
                let name = core.map_or_else(|| format!("worker-{index}"), |core| format!("worker-{index}@{core}"));
                let thread = thread::Builder::new().name(name).spawn_scoped(scope, move || one(index, *core));
                thread.inspect_err(|error| gate.fail(error))
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<T>>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(|thread| thread.and_then(join)).collect()
    })
}

/// Where the threads wait until all are set up or one cannot be.
#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    arrived: usize,
    failed: Option<(io::ErrorKind, String)>,
}

impl Gate {
    fn arrive(&self, runtime: &io::Result<Runtime>) {
        match runtime {
            Ok(_) => self.change(|state| state.arrived += 1),
            Err(error) => self.fail(error),
        }
    }

    fn fail(&self, error: &io::Error) {
        self.change(|state| {
            state.failed.get_or_insert_with(|| (error.kind(), error.to_string()));
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.state.lock().unwrap_or_else(PoisonError::into_inner));
        self.changed.notify_all();
    }

    fn wait_for(&self, all: usize) -> io::Result<()> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let waiting = |state: &mut State| state.arrived < all && state.failed.is_none();
        let state = self.changed.wait_while(state, waiting).unwrap_or_else(PoisonError::into_inner);
        match &state.failed {
            Some((kind, text)) => Err(io::Error::new(*kind, text.clone())),
            None => Ok(()),
        }
    }
}
