//! Pins threads to cores.

use crate::error::{StressError, usage};
use brunt_results::Cores;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Pins the calling thread, and those that it starts, to one core.
pub(crate) fn pin(core: usize) -> Result<(), StressError> {
    let mut set = CpuSet::new();
    let pinned = match core < CpuSet::MAX_CPU {
        true => {
            set.set(core);
            sched_setaffinity(None, &set)
        }
        false => Err(rustix::io::Errno::INVAL),
    };
    let allowed = allowed_cores();
    pinned.or_else(|error| usage(format!("--cores {core}: {error}; this process may use {allowed}")))
}

fn allowed_cores() -> String {
    let Ok(set) = sched_getaffinity(None) else { return "other cores".to_owned() };
    let cores = Cores((0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect());
    format!("cores {cores}")
}
