//! Threads of this process beside those of a load.

use brunt_meter::affinity;

/// Keeps the calling thread, and those that it starts, off the cores of the load threads, unless it may run on no other.
pub(crate) fn leave(cores: &[usize]) {
    let others =
        affinity::allowed().map(|all| all.into_iter().filter(|core| !cores.contains(core)).collect::<Vec<_>>());
    // Best effort: a thread that stays where it is still works.
    if let Some(others) = others.ok().filter(|others| !others.is_empty() && !cores.is_empty()) {
        let _ = affinity::pin(&others);
    }
}
