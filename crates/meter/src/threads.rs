//! CPU time, run queue wait and context switches of each thread of a set of processes.
//!
//! A thread that ended keeps its last known values; one that began inside the window counts from zero. Threads that ended
//! between two samples are missed, so CPU totals come from `process`, and the sum of switches, which has no other source, is
//! absent if a thread is seen to have ended.

use crate::proc;
use std::collections::{BTreeSet, HashMap};
use std::fs;

pub(crate) const MAX_THREADS: u64 = 10_000;

/// Scheduler statistics of one thread, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// On a core.
    pub cpu: u64,
    /// Runnable without a core; absent without CONFIG_SCHED_INFO.
    pub wait: Option<u64>,
    /// Absent if the thread ended while it was read.
    pub switches: Option<Switches>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    pub voluntary: u64,
    pub involuntary: u64,
}

pub(crate) type ThreadTimes = HashMap<u32, Times>;

pub(crate) fn read(pids: impl Iterator<Item = u32>) -> ThreadTimes {
    let mut times = ThreadTimes::new();
    for pid in pids {
        times.extend(proc::threads_of(pid).into_iter().filter_map(|tid| Some((tid, of(pid, tid)?))));
    }
    times
}

/// The times of one thread: the first two fields of `schedstat` (nanoseconds), else the ticks of `stat`.
pub(crate) fn of(pid: u32, tid: u32) -> Option<Times> {
    let schedstat = fs::read_to_string(format!("/proc/{pid}/task/{tid}/schedstat")).ok();
    let fields = schedstat.map(|text| text.split(' ').map_while(|field| field.parse().ok()).collect::<Vec<u64>>());
    // Without CONFIG_SCHED_INFO, the file is missing or contains zeros.
    let switches = Switches::of(pid, tid);
    if let Some([cpu, wait, ..]) = fields.as_deref()
        && *cpu > 0
    {
        return Some(Times { cpu: *cpu, wait: Some(*wait), switches });
    }
    let process = procfs::process::Process::new(i32::try_from(pid).ok()?).ok()?;
    let stat = process.task_from_tid(i32::try_from(tid).ok()?).ok()?.stat().ok()?;
    Some(Times { cpu: (stat.utime + stat.stime) * proc::tick_ns(), wait: None, switches })
}

/// The difference of each thread between the first and the newest times; a reused thread id counts from zero.
pub(crate) fn used<'a>(first: &'a ThreadTimes, newest: &'a ThreadTimes) -> impl Iterator<Item = (u32, Times)> + 'a {
    newest.iter().map(|(tid, now)| match first.get(tid) {
        Some(before) if before.cpu <= now.cpu => (*tid, now.since(*before)),
        _ => (*tid, *now),
    })
}

impl Times {
    pub fn since(self, before: Self) -> Self {
        let wait = self.wait.zip(before.wait).map(|(now, before)| now.saturating_sub(before));
        let switches = self.switches.zip(before.switches).map(|(now, before)| now.since(before));
        Self { cpu: self.cpu.saturating_sub(before.cpu), wait, switches }
    }
}

impl Switches {
    /// Of one thread since it began. `/proc/PID/status` covers only the first thread.
    fn of(pid: u32, tid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        // The last two lines.
        let mut lines = text.lines().rev();
        let mut count = |name: &str| lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { involuntary: count("nonvoluntary_ctxt_switches:")?, voluntary: count("voluntary_ctxt_switches:")? })
    }

    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// The switches of all threads between the first and the newest times; `None` if those of any thread are unknown.
pub(crate) fn switches(first: &ThreadTimes, newest: &ThreadTimes) -> Option<Switches> {
    used(first, newest).try_fold(Switches::default(), |sum, (_, times)| {
        let more = times.switches?;
        Some(Switches { voluntary: sum.voluntary + more.voluntary, involuntary: sum.involuntary + more.involuntary })
    })
}

/// The union of the cores allowed to each of these threads, none of which may have ended: what is in `/proc` of a thread that
/// has just ended can block its reader for good (Linux 6.18, `d_invalidate` of a directory that the exit is removing).
pub(crate) fn allowed_cores(threads: &[u32]) -> Option<Vec<usize>> {
    let mut cores = BTreeSet::new();
    for tid in threads {
        // /proc/TID works for a thread id as well, though it is not listed.
        let allowed = proc::status_line(&format!("/proc/{tid}/status"), "Cpus_allowed_list");
        cores.extend(allowed.and_then(|list| list.parse::<brunt_results::Cores>().ok()).into_iter().flat_map(|c| c.0));
    }
    (!cores.is_empty()).then(|| cores.into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_threads_are_read_and_ended_and_reused_ones_accounted_for() {
        let times = |all: &[(u32, u64)]| -> ThreadTimes {
            let times = |cpu: u64| Times {
                cpu,
                wait: Some(2 * cpu),
                switches: Some(Switches { voluntary: 3 * cpu, involuntary: cpu }),
            };
            all.iter().map(|(tid, cpu)| (*tid, times(*cpu))).collect()
        };
        let first = times(&[(1, 1000), (2, 500), (3, 70)]);
        let mut newest = first.clone();
        newest.extend(times(&[(1, 1500), (3, 20), (4, 7)]));
        assert_eq!(switches(&first, &newest), Some(Switches { voluntary: 3 * 527, involuntary: 527 }));
        let used: Vec<_> = used(&first, &newest).collect();
        assert!(used.iter().all(|(_, times)| times.wait == Some(2 * times.cpu)), "{used:?}");
        let mut used: Vec<_> = used.into_iter().map(|(tid, times)| (tid, times.cpu)).collect();
        used.sort_unstable();
        assert_eq!(used, [(1, 500), (2, 0), (3, 20), (4, 7)]);
        let times = read([std::process::id()].into_iter());
        assert!(times.values().any(|times| times.cpu > 0), "{times:?}");
        // Threads of other tests may end while they are read.
        let me = rustix::thread::gettid().as_raw_pid() as u32;
        assert!(times[&me].switches.is_some(), "{times:?}");
    }
}
