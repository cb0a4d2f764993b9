//! CPU time of the kernel's packet threads, `ksoftirqd/N`, one for each core.
//!
//! Where many packets arrive at once, the kernel leaves them to such a thread (kernel/softirq.c), and the thread whose
//! connections they belong to waits meanwhile. That is work of its own load and no disturbance: it is taken out of run queue
//! wait. In a container the threads are invisible, and nothing is taken out.

use crate::proc;
use crate::schedstat::scheduled;
use crate::threads::Times;
use std::collections::BTreeMap;
use std::fs::File;
use std::sync::OnceLock;
use std::time::Duration;

/// `schedstat` of each, by core. They live as long as the machine.
fn threads() -> &'static BTreeMap<usize, File> {
    static THREADS: OnceLock<BTreeMap<usize, File>> = OnceLock::new();
    let find = |stat: proc::Stat| {
        let core = proc::name_of(stat.pid)?.strip_prefix("ksoftirqd/")?.parse().ok()?;
        Some((core, File::open(format!("/proc/{}/schedstat", stat.pid)).ok()?))
    };
    THREADS.get_or_init(|| {
        proc::Stat::all().into_iter().filter(|stat| stat.parent == proc::KTHREADD).filter_map(find).collect()
    })
}

/// CPU time of the packet thread of each core, since boot.
#[derive(Debug, Clone, Default)]
pub(crate) struct PacketTime(BTreeMap<usize, Duration>);

impl PacketTime {
    pub fn now() -> Self {
        Self(threads().iter().filter_map(|(core, file)| Some((*core, scheduled(file)?.cpu))).collect())
    }

    /// The run queue wait of a thread since `earlier`, less packet threads on its `cores`; `None` if its wait is unknown.
    pub fn wait_for_others(&self, earlier: &Self, cores: &[usize], used: &Times) -> Option<Duration> {
        Some(Duration::from_nanos(used.wait?).saturating_sub(self.since(earlier, cores)))
    }

    /// The most that the packet thread of one of `cores` has used since `earlier`: a thread waits for one at a time.
    fn since(&self, earlier: &Self, cores: &[usize]) -> Duration {
        let used = |core| Some(self.0.get(core)?.saturating_sub(*earlier.0.get(core)?));
        cores.iter().filter_map(used).max().unwrap_or_default()
    }
}

/// The same of one set of cores as a mean, for frequent reads.
pub(crate) fn mean(cores: &[usize]) -> Duration {
    let sum: Duration = cores.iter().filter_map(|core| Some(scheduled(threads().get(core)?)?.cpu)).sum();
    sum / cores.len().max(1) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_core_that_used_most_counts() {
        let times = |all: [u64; 2]| PacketTime((0..).zip(all.map(Duration::from_millis)).collect());
        let (first, last) = (times([100, 900]), times([130, 950]));
        let since = |cores: &[usize]| last.since(&first, cores).as_millis();
        assert_eq!([since(&[0]), since(&[1]), since(&[0, 1]), since(&[]), since(&[7])], [30, 50, 50, 0, 0]);
        assert_eq!(first.since(&last, &[0]), Duration::ZERO);
    }

    #[test]
    fn times_of_this_machine_grow() {
        let first = PacketTime::now();
        let cores: Vec<_> = first.0.keys().copied().collect();
        assert_eq!(cores.is_empty(), mean(&cores).is_zero());
        assert!(PacketTime::now().0.iter().all(|(core, now)| *now >= first.0[core]));
    }
}
