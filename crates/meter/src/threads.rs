//! CPU of each thread of a set of processes, how long each waited for a core, and how often it gave one up.
//!
//! Threads come and go: one that ended keeps its last known time, one that began inside the window counts from zero. CPU
//! totals never come from here (a thread that ended between two looks is lost to this view; see `process`), and the sum
//! of switches, which the kernel keeps nowhere else, is absent when a thread is seen to have ended.

use crate::proc;
use std::{collections::HashMap, fs};

/// Above this many threads their times are not read one by one: it would take longer than it is worth.
pub(crate) const MOST_THREADS: u64 = 10_000;

/// What the scheduler has on one thread, in nanoseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Times {
    /// On a core.
    pub cpu: u64,
    /// Ready to run and waiting for a core that somebody else had; absent without CONFIG_SCHED_INFO.
    pub wait: Option<u64>,
    /// How often it left a core; absent when it ended while it was read.
    pub switches: Option<Switches>,
}

/// How often threads left their cores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Switches {
    /// To wait for something.
    pub voluntary: u64,
    /// Because the scheduler gave the core to another.
    pub involuntary: u64,
}

/// The times by thread id.
pub(crate) type ThreadTimes = HashMap<u32, Times>;

/// Reads the times of every thread of these processes.
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
    // Kernels built without CONFIG_SCHED_INFO have no such file, or one that says zero.
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

/// Folds a newer look into the newest known times, so that an ended thread keeps its last one.
pub(crate) fn fold(known: &mut ThreadTimes, newer: ThreadTimes) {
    known.extend(newer);
}

/// What each thread used and waited between the first look and the newest; a thread id given away again counts from zero.
pub(crate) fn used<'a>(first: &'a ThreadTimes, newest: &'a ThreadTimes) -> impl Iterator<Item = (u32, Times)> + 'a {
    newest.iter().map(|(tid, now)| match first.get(tid) {
        Some(before) if before.cpu <= now.cpu => (*tid, now.since(*before)),
        _ => (*tid, *now),
    })
}

impl Times {
    /// From an earlier look at the same thread to this one.
    pub fn since(self, before: Self) -> Self {
        let wait = self.wait.zip(before.wait).map(|(now, before)| now.saturating_sub(before));
        let switches = self.switches.zip(before.switches).map(|(now, before)| now.since(before));
        Self { cpu: self.cpu.saturating_sub(before.cpu), wait, switches }
    }
}

impl Switches {
    /// Of one thread since it began; `/proc/PID/status` would give those of the first thread alone.
    fn of(pid: u32, tid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/task/{tid}/status")).ok()?;
        // The last two lines.
        let mut lines = text.lines().rev();
        let mut count = |name: &str| lines.find_map(|line| line.strip_prefix(name)?.trim().parse().ok());
        Some(Self { involuntary: count("nonvoluntary_ctxt_switches:")?, voluntary: count("voluntary_ctxt_switches:")? })
    }

    /// From an earlier count to this one.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            voluntary: self.voluntary.saturating_sub(before.voluntary),
            involuntary: self.involuntary.saturating_sub(before.involuntary),
        }
    }
}

/// The switches of all threads between the first look and the newest; absent if those of one are unknown.
pub(crate) fn switches(first: &ThreadTimes, newest: &ThreadTimes) -> Option<Switches> {
    used(first, newest).try_fold(Switches::default(), |sum, (_, times)| {
        let more = times.switches?;
        Some(Switches { voluntary: sum.voluntary + more.voluntary, involuntary: sum.involuntary + more.involuntary })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_end_keep_their_time_and_ids_used_again_start_at_zero() {
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
        fold(&mut newest, times(&[(1, 1500), (3, 20), (4, 7)]));
        assert_eq!(switches(&first, &newest), Some(Switches { voluntary: 3 * 527, involuntary: 527 }));
        let used: Vec<_> = used(&first, &newest).collect();
        assert!(used.iter().all(|(_, times)| times.wait == Some(2 * times.cpu)), "{used:?}");
        let mut used: Vec<_> = used.into_iter().map(|(tid, times)| (tid, times.cpu)).collect();
        used.sort_unstable();
        assert_eq!(used, [(1, 500), (2, 0), (3, 20), (4, 7)]);
    }

    #[test]
    fn our_own_threads_are_read() {
        let times = read([std::process::id()].into_iter());
        assert!(times.values().any(|times| times.cpu > 0), "{times:?}");
        // Those of other tests may end while they are read.
        let me = rustix::thread::gettid().as_raw_pid() as u32;
        assert!(times[&me].switches.is_some(), "{times:?}");
    }
}
