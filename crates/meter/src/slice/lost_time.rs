//! Time that the machine takes from slices: threads of the generator runnable without a core, steal, and gaps in which a core
//! stood still. The run delay of a server is not in it: it is part of the server's result, and so is what a server on a core of
//! the generator uses of that core.

use super::gaps::Gaps;
use crate::host::HostCpu;
use crate::packet_threads;
use crate::sampling_budget::SamplingBudget;
use crate::schedstat::scheduled;
use rustix::thread::{Pid, sched_getaffinity};
use std::fs::File;
use std::time::Duration;

/// Of the thread that looks for gaps.
const SLEEP: Duration = Duration::from_millis(2);

#[derive(Debug)]
pub struct LostTime {
    /// `schedstat` of each thread of the generator; none if its threads wait for each other.
    threads: Vec<File>,
    /// Of the generator's cores and of the server's.
    steal: [Steal; 2],
    gaps: Gaps,
    last: Parts,
    total: Lost,
}

/// Since the attachment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Mean wait of the generator's threads for a core, less packet threads.
    pub waited: Duration,
    /// Steal (of the generator's or the server's cores, whichever lost more, as a mean) or gaps, whichever is more, as one pause
    /// shows in both.
    pub paused: Duration,
}

impl Lost {
    /// The time that the machine took from what was done since `earlier`. `ours`: CPU time of the targets in it on cores of the
    /// generator, for which that waited; `None` if there are targets whose CPU time is not known, so that its waits tell nothing.
    pub fn since(self, earlier: Self, ours: Option<Duration>) -> Duration {
        let waited = self.waited.saturating_sub(earlier.waited);
        let for_others = ours.map_or(Duration::ZERO, |ours| waited.saturating_sub(ours));
        for_others + self.paused.saturating_sub(earlier.paused)
    }
}

/// Cumulative.
#[derive(Debug, Clone, Copy, Default)]
struct Parts {
    waited: Duration,
    /// Of the kernel's packet threads on the generator's cores, for which it waits as well.
    packets: Duration,
    /// Of the generator's and of the server's cores.
    stolen: [Duration; 2],
    gaps: Duration,
}

/// Steal of a set of cores, as a mean: the share of their time that was lost.
#[derive(Debug)]
struct Steal {
    cores: Vec<usize>,
    newest: Duration,
    budget: SamplingBudget,
}

impl LostTime {
    /// `threads` make the load; without any, processes to come make it, on the cores of the calling thread. `server_cores`
    /// are those of the targets.
    pub fn attach(threads: &[u32], server_cores: &[usize]) -> Self {
        let allowed = |tid: &u32| sched_getaffinity(Some(Pid::from_raw(*tid as i32)?)).ok();
        let mut sets: Vec<_> = threads.iter().filter_map(allowed).collect();
        if threads.is_empty() {
            sets.extend(sched_getaffinity(None));
        }
        let cores: Vec<usize> =
            (0..rustix::thread::CpuSet::MAX_CPU).filter(|core| sets.iter().any(|set| set.is_set(*core))).collect();
        let alone = threads.len() <= cores.len();
        let schedstat = |tid: &u32| File::open(format!("/proc/{tid}/schedstat")).ok();
        let mut lost = Self {
            threads: threads.iter().filter(|_| alone).filter_map(schedstat).collect(),
            steal: [Steal::of(cores), Steal::of(server_cores.to_vec())],
            gaps: Gaps::watch(threads.first().copied(), SLEEP),
            last: Parts::default(),
            total: Lost::default(),
        };
        lost.last = lost.parts();
        lost
    }

    /// Whether the generator may run on one of these cores.
    pub fn is_on(&self, cores: &[usize]) -> bool {
        cores.iter().any(|core| self.steal[0].cores.contains(core))
    }

    pub fn read(&mut self) -> Lost {
        let now = self.parts();
        let last = std::mem::replace(&mut self.last, now);
        let since = |part: fn(&Parts) -> Duration| part(&now).saturating_sub(part(&last));
        let stolen = since(|parts| parts.stolen[0]).max(since(|parts| parts.stolen[1]));
        let waited = since(|parts| parts.waited).saturating_sub(since(|parts| parts.packets));
        self.total.waited += waited;
        self.total.paused += stolen.max(since(|parts| parts.gaps));
        self.total
    }

    fn parts(&mut self) -> Parts {
        let waits: Duration = self.threads.iter().filter_map(run_queue_wait).sum();
        let waited = waits / self.threads.len().max(1) as u32;
        let packets = packet_threads::mean(&self.steal[0].cores);
        Parts { waited, packets, stolen: self.steal.each_mut().map(Steal::read), gaps: self.gaps.read() }
    }
}

impl Steal {
    fn of(cores: Vec<usize>) -> Self {
        Self { cores, newest: Duration::ZERO, budget: SamplingBudget::default() }
    }

    fn read(&mut self) -> Duration {
        if !self.cores.is_empty()
            && let Some((sum, count)) = self.budget.take(|| HostCpu::of_cores(&self.cores, HostCpu::stolen))
        {
            self.newest = sum / count.max(1);
        }
        self.newest
    }
}

fn run_queue_wait(schedstat: &File) -> Option<Duration> {
    scheduled(schedstat).map(|times| times.wait)
}
