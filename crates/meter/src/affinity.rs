//! Cores that threads may run on. Threads and processes that one starts inherit its cores.

use crate::proc;
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::io;

/// Those of the calling thread, in ascending order.
pub fn allowed() -> io::Result<Vec<usize>> {
    Ok(listed(&sched_getaffinity(None)?))
}

/// Those that any thread of these processes may run on, in ascending order.
pub fn of_processes(pids: &[u32]) -> Vec<usize> {
    let of = |tid: u32| sched_getaffinity(Some(Pid::from_raw(i32::try_from(tid).ok()?)?)).ok();
    let sets: Vec<CpuSet> = pids.iter().flat_map(|pid| proc::threads_of(*pid)).filter_map(of).collect();
    (0..CpuSet::MAX_CPU).filter(|core| sets.iter().any(|set| set.is_set(*core))).collect()
}

pub(crate) fn listed(set: &CpuSet) -> Vec<usize> {
    (0..CpuSet::MAX_CPU).filter(|core| set.is_set(*core)).collect()
}

/// The set of these cores; those beyond the kernel's limit are left out.
pub(crate) fn set_of(cores: &[usize]) -> CpuSet {
    let mut set = CpuSet::new();
    cores.iter().filter(|core| **core < CpuSet::MAX_CPU).for_each(|core| set.set(*core));
    set
}

/// Restricts the calling thread to these cores; those beyond the kernel's limit are left out.
pub fn pin(cores: &[usize]) -> io::Result<()> {
    Ok(sched_setaffinity(None, &set_of(cores))?)
}
