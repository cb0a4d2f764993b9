//! A group: one thread and one runtime a core.

use crate::{Builder, Runtime};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::{future::Future, io, thread};

/// Moves the calling thread to one core for good.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot run on core {core}: {error}"));
    if core >= CpuSet::MAX_CPU {
        return Err(named(io::ErrorKind::InvalidInput.into()));
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|errno| named(errno.into()))
}

/// Runs `body` once for every entry of `cores`, each on its own thread with its own runtime, pinned where a core is
/// named; waits for all and returns their results in order. A thread that cannot be set up is an `Err`, a panic goes on
/// in the caller.
///
/// `body` is called on the new thread, inside `block_on`, with the index of the worker.
pub fn run<T, F, B>(builder: &Builder, cores: &[Option<usize>], body: B) -> Vec<io::Result<T>>
where
    T: Send,
    F: Future<Output = T>,
    B: Fn(usize) -> F + Sync,
{
    let body = &body;
    let one = |index: usize, core: Option<usize>| -> io::Result<T> {
        if let Some(core) = core {
            pin_to_core(core)?;
        }
        let runtime: Runtime = builder.clone().build()?;
        Ok(runtime.block_on(body(index)))
    };
    thread::scope(|scope| {
        let threads: Vec<_> = (cores.iter().enumerate())
            .map(|(index, core)| {
                let name = core.map_or_else(|| format!("worker-{index}"), |core| format!("worker-{index}@{core}"));
                thread::Builder::new().name(name).spawn_scoped(scope, move || one(index, *core))
            })
            .collect();
        let join = |thread: thread::ScopedJoinHandle<'_, io::Result<T>>| match thread.join() {
            Ok(result) => result,
            Err(panic) => std::panic::resume_unwind(panic),
        };
        threads.into_iter().map(|thread| thread.and_then(join)).collect()
    })
}
