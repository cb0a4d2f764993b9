//! Other processes of the machine, by the CPU time that they used between two looks.
//!
//! Precise to a clock tick (10 ms). A process that began and ended in between is unseen.

use crate::proc::{Stat, tick_ns};
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, time::Instant};

/// Share of a core, in percent, below which a process is left out.
const LEAST_PERCENT: f64 = 1.0;

/// CPU time of every process so far.
#[derive(Debug)]
pub struct Snapshot {
    at: Instant,
    ticks: BTreeMap<u32, u64>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Neighbour {
    pub name: String,
    /// Of a core.
    pub cpu_percent: f64,
}

impl Snapshot {
    pub fn take() -> Self {
        let ticks = Stat::all().into_iter().map(|stat| (stat.pid, stat.user_ticks + stat.system_ticks)).collect();
        Self { at: Instant::now(), ticks }
    }

    /// The busiest processes since then, at most `most`. Leaves out `ours` and what descends from them, and the kernel's packet
    /// threads, which work for them too.
    pub fn busiest(&self, ours: &[u32], most: usize) -> Vec<Neighbour> {
        let (now, elapsed) = (Stat::all(), self.at.elapsed().as_nanos() as f64);
        let parents: BTreeMap<u32, u32> = now.iter().map(|stat| (stat.pid, stat.parent)).collect();
        let is_ours = |pid: u32| lineage(&parents, pid).any(|pid| ours.contains(&pid));
        let used = |stat: &Stat| {
            let ticks =
                (stat.user_ticks + stat.system_ticks).saturating_sub(self.ticks.get(&stat.pid).copied().unwrap_or(0));
            (stat.pid, (ticks * tick_ns()) as f64 / elapsed * 100.0)
        };
        let busy = now.iter().map(used).filter(|(pid, percent)| *percent >= LEAST_PERCENT && !is_ours(*pid));
        let mut busy: Vec<(u32, f64)> = busy.collect();
        busy.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        let named = busy.into_iter().filter_map(|(pid, cpu_percent)| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned();
            (!name.starts_with("ksoftirqd/")).then_some(Neighbour { name, cpu_percent })
        });
        named.take(most).collect()
    }
}

/// A process and its ancestors.
fn lineage(parents: &BTreeMap<u32, u32>, pid: u32) -> impl Iterator<Item = u32> {
    // A pid may be used again while this is read.
    let mut seen = BTreeSet::new();
    std::iter::successors(Some(pid), |pid| parents.get(pid).copied())
        .take_while(move |pid| *pid > 1 && seen.insert(*pid))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Duration;

    #[test]
    fn a_busy_process_is_named_unless_it_is_ours() {
        let mut busy = Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let before = Snapshot::take();
        let begun = std::time::Instant::now();
        brunt_testkit::until("it has used half a second of CPU time, and a tenth of all", || {
            let used = crate::process::cpu_of(busy.id()).unwrap();
            used >= Duration::from_millis(500) && used.mul_f64(10.0) > begun.elapsed()
        });
        let others = before.busiest(&[], 1000);
        let without = before.busiest(&[std::process::id()], 1000);
        busy.kill().and_then(|()| busy.wait()).unwrap();
        let busiest = |all: &[Neighbour]| {
            all.iter().filter(|one| one.name == "sh").map(|one| one.cpu_percent).fold(0.0, f64::max)
        };
        assert!(busiest(&others) > 5.0, "{others:?}");
        assert!(without.len() < others.len(), "{without:?} {others:?}");
        assert!(others.windows(2).all(|pair| pair[0].cpu_percent >= pair[1].cpu_percent), "{others:?}");
        assert!(before.busiest(&[], 1).len() <= 1);
    }
}
