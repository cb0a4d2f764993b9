//! CPU of each thread of a set of processes, to find the fullest one.
//!
//! Threads come and go: one that ended keeps its last known time, one that began inside the window counts from zero.
//! Totals never come from here (a thread that ended between two looks is lost to this view); see `process`.

use crate::proc;
use std::{collections::HashMap, fs};

/// Above this many threads their times are not read one by one: it would take longer than it is worth.
pub(crate) const MOST_THREADS: u64 = 10_000;

/// CPU nanoseconds by thread id.
pub(crate) type ThreadTimes = HashMap<u32, u64>;

/// Reads the CPU time of every thread of these processes.
pub(crate) fn read(pids: impl Iterator<Item = u32>) -> ThreadTimes {
    let mut times = ThreadTimes::new();
    for pid in pids {
        for tid in proc::threads_of(pid) {
            if let Some(nanos) = thread_cpu_ns(pid, tid) {
                times.insert(tid, nanos);
            }
        }
    }
    times
}

/// CPU time of one thread: the first field of `schedstat` (nanoseconds), else the ticks of `stat`.
pub(crate) fn thread_cpu_ns(pid: u32, tid: u32) -> Option<u64> {
    let schedstat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok();
    let nanos: Option<u64> = schedstat.and_then(|text| text.split(' ').next()?.parse().ok());
    // Kernels built without CONFIG_SCHED_INFO have no such file, or one that says zero.
    if let Some(nanos) = nanos.filter(|nanos| *nanos > 0) {
        return Some(nanos);
    }
    let process = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?;
    let stat = process.task_from_tid(i32::try_from(tid).ok()?).ok()?.stat().ok()?;
    Some((stat.utime + stat.stime) * proc::tick_ns())
}

/// Folds a newer look into the newest known times, so that an ended thread keeps its last one.
pub(crate) fn fold(known: &mut ThreadTimes, newer: ThreadTimes) {
    known.extend(newer);
}

/// What each thread used between the first look and the newest; a thread id given away again counts from zero.
pub(crate) fn used<'a>(first: &'a ThreadTimes, newest: &'a ThreadTimes) -> impl Iterator<Item = (u32, u64)> + 'a {
    newest.iter().map(|(tid, now)| match first.get(tid) {
        Some(before) if before <= now => (*tid, now - before),
        _ => (*tid, *now),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_keep_their_time_and_ids_used_again_start_at_zero() {
        let first = ThreadTimes::from([(1, 1000), (2, 500), (3, 70)]);
        let mut newest = first.clone();
        fold(&mut newest, ThreadTimes::from([(1, 1500), (3, 20), (4, 7)]));
        let mut used: Vec<_> = used(&first, &newest).collect();
        used.sort_unstable();
        assert_eq!(used, [(1, 500), (2, 0), (3, 20), (4, 7)]);
    }

    #[test]
    fn our_own_threads_are_read() {
        let times = read([std::process::id()].into_iter());
        assert!(times.values().any(|nanos| *nanos > 0), "{times:?}");
    }
}
