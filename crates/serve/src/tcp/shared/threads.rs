//! Worker threads of a model and their cores.

use brunt_runtime::{CancellationToken, group::pin_to_core};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::{io, ops::Add, sync::mpsc, thread};

/// Checks that this process may use these cores. The error names the first that it may not use, and those that it may.
pub(crate) fn check(workers: &[Option<usize>]) -> io::Result<()> {
    let try_out = |core: usize| {
        // On another thread, because pinning would move the calling one.
        let tried = thread::scope(|scope| scope.spawn(|| pin_to_core(core)).join());
        tried.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    };
    workers.iter().flatten().try_for_each(|core| try_out(*core))
}

/// Restricts the calling thread, and those it starts, to these cores; no effect if none is named.
pub(crate) fn set_affinity(workers: &[Option<usize>]) -> io::Result<()> {
    check(workers)?;
    let mut set = CpuSet::new();
    workers.iter().flatten().for_each(|core| set.set(*core));
    if set.count() == 0 {
        return Ok(());
    }
    Ok(sched_setaffinity(None, &set)?)
}

/// Runs `body` on a thread per worker, pinned if a core is named, then `here` on the calling thread. Returns the sum of the
/// results. If one fails, the token that they get is cancelled, which ends all of them, and the error is returned.
pub(crate) fn run_workers<P: Send, T: Send + Default + Add<Output = T>>(
    workers: &[Option<usize>],
    stop: &CancellationToken,
    parts: Vec<P>,
    body: impl Fn(P, &CancellationToken) -> io::Result<T> + Sync,
    here: impl FnOnce(&CancellationToken) -> io::Result<()>,
) -> io::Result<T> {
    check(workers)?;
    let (stop, body) = (&stop.child_token(), &body);
    // Nothing is sent: a thread drops its sender once it is pinned.
    let (settling, all_settled) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let start = |(index, (core, part)): (usize, (Option<usize>, P))| {
            let name = core.map_or_else(|| format!("worker-{index}"), |core| format!("worker-{index}@{core}"));
            let settling = settling.clone();
            let run = move || {
                let settled = core.map_or(Ok(()), pin_to_core);
                drop(settling);
                settled.and_then(|()| body(part, stop)).inspect_err(|_| stop.cancel())
            };
            thread::Builder::new().name(name).spawn_scoped(scope, run).inspect_err(|_| stop.cancel())
        };
        let threads: Vec<_> = workers.iter().copied().zip(parts).enumerate().map(start).collect();
        drop(settling);
        let _ = all_settled.recv();
        let done = here(stop).inspect_err(|_| stop.cancel());
        let results = threads.into_iter().map(|thread| thread.and_then(join)).collect::<Vec<_>>();
        done?;
        results.into_iter().try_fold(T::default(), |sum, result| Ok(sum + result?))
    })
}

fn join<T>(thread: thread::ScopedJoinHandle<'_, io::Result<T>>) -> io::Result<T> {
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
