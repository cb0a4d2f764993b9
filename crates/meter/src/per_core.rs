//! Runs the same work on several cores at once, with one thread pinned to each.

use crate::affinity;
use rustix::thread::CpuSet;
use std::{io, sync::Barrier, thread};

/// Starts `work` once all threads have finished `prepare`. Returns the results in the order of the cores.
pub(crate) fn on_each<P, T: Send>(
    cores: &[usize],
    prepare: impl Fn() -> io::Result<P> + Sync,
    work: impl Fn(P) -> io::Result<T> + Sync,
) -> io::Result<Vec<T>> {
    let ready_all = Barrier::new(cores.len());
    let on = |core: usize| {
        let ready = pin(core).and_then(|()| prepare());
        // Also after an error, as the other threads wait here.
        ready_all.wait();
        work(ready?)
    };
    thread::scope(|scope| {
        let threads: Vec<_> = cores.iter().map(|core| scope.spawn(|| on(*core))).collect();
        let ended = threads.into_iter().map(|thread| thread.join());
        ended.map(|end| end.map_err(|_| io::Error::other("a thread panicked"))?).collect()
    })
}

fn pin(core: usize) -> io::Result<()> {
    if core >= CpuSet::MAX_CPU {
        return Err(io::Error::other(format!("core {core} does not exist")));
    }
    affinity::pin(&[core])
}
