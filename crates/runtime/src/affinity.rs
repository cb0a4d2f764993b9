//! CPU affinity of threads.

use rustix::thread::{CpuSet, current_timer_slack, sched_getaffinity, sched_setaffinity, set_current_timer_slack};
use std::{io, num::NonZeroU64};

/// Pins the calling thread to one core.
///
/// # Errors
/// If the process may not use that core; the message lists the ones it may use.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    let named = |error: io::Error| {
        let allowed = allowed_text();
        io::Error::new(error.kind(), format!("cannot run on core {core}: {error}; this process may use {allowed}"))
    };
    if core >= CpuSet::MAX_CPU {
        return Err(named(io::ErrorKind::InvalidInput.into()));
    }
    let mut set = CpuSet::new();
    set.set(core);
    sched_setaffinity(None, &set).map_err(|errno| named(errno.into()))
}

/// Resets a helper thread's affinity, inherited from the worker that started it, to that of the main thread.
pub(crate) fn reset() {
    // Best effort: a thread that stays pinned still works.
    if let Ok(cores) = sched_getaffinity(Some(rustix::process::getpid())) {
        let _ = sched_setaffinity(None, &cores);
    }
}

/// Runs `start`, which starts a process, with the cores of the main thread and the usual timer slack: a child inherits both, and
/// would otherwise have the one core of a worker, and timers that are more exact and cost more.
pub(crate) fn outside<T>(start: impl FnOnce() -> T) -> T {
    let (own, slack) = (sched_getaffinity(None), current_timer_slack());
    reset();
    let _ = set_current_timer_slack(None);
    let started = start();
    // Best effort, as above.
    let _ = own.map(|cores| sched_setaffinity(None, &cores));
    let _ = slack.map(|slack| set_current_timer_slack(NonZeroU64::new(slack)));
    started
}

/// The cores that the calling thread may run on, in ascending order.
pub fn allowed_cores() -> io::Result<Vec<usize>> {
    let set = sched_getaffinity(None)?;
    Ok((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect())
}

fn allowed_text() -> String {
    let Ok(cores) = allowed_cores() else { return "other cores".to_owned() };
    let runs = cores.chunk_by(|a, b| a + 1 == *b).map(|run| match run {
        [core] => core.to_string(),
        run => format!("{}-{}", run[0], run[run.len() - 1]),
    });
    format!("cores {}", runs.collect::<Vec<_>>().join(","))
}
