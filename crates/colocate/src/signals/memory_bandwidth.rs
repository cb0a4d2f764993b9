//! Bytes read from and written to memory, as resctrl counts them by group where the processor monitors it. The root's group counts
//! what is in no other. Elsewhere they are estimated by cache misses, if the bytes of a miss are known.

use super::cache_misses::CacheMisses;
use super::rate::Rate;
use super::signal::{Capability, Signal};
use crate::cgroup::Group;
use crate::readings::Reading;
use brunt_meter::cgroup::Files;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

#[derive(Debug)]
pub(super) struct MemoryBandwidth {
    files: Arc<dyn Files>,
    root: PathBuf,
    /// Directory of the BE jobs.
    jobs_dir: PathBuf,
    memory: Memory,
    /// Where resctrl does not count.
    estimate: Option<Result<Estimate, String>>,
    all: Rate,
    jobs: Rate,
}

/// What is known of this machine's memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct Memory {
    /// Bytes a second that it can move; shares are of it.
    pub peak: Option<f64>,
    /// Bytes moved for a miss of the last-level cache.
    pub bytes_per_miss: Option<f64>,
}

#[derive(Debug)]
struct Estimate {
    bytes_per_miss: f64,
    all: CacheMisses,
    jobs: Option<CacheMisses>,
}

impl MemoryBandwidth {
    /// `group` is that of the BE jobs.
    pub(super) fn new(files: Arc<dyn Files>, root: &Path, group: &Group, memory: Memory) -> Self {
        let (all, jobs) = Default::default();
        let jobs_dir = root.join(group.name());
        let mut own = Self { files, root: root.to_owned(), jobs_dir, memory, estimate: None, all, jobs };
        if own.total().is_none() {
            own.estimate = memory.bytes_per_miss.map(|bytes| Estimate::new(bytes, group));
        }
        own
    }

    pub(super) fn sample(&mut self, now: Instant) {
        let (all, jobs) = match &mut self.estimate {
            Some(Ok(estimate)) => estimate.bytes(),
            _ => (self.total(), self.of(&self.jobs_dir)),
        };
        self.all.add(now, all);
        self.jobs.add(now, jobs);
    }

    /// Of the machine, as a share of its peak.
    pub(super) fn all(&self, now: Instant) -> Option<Reading<f64>> {
        self.share(&self.all, now)
    }

    pub(super) fn jobs(&self, now: Instant) -> Option<Reading<f64>> {
        self.share(&self.jobs, now)
    }

    pub(super) fn begin_mean(&mut self) {
        self.all.begin_mean();
    }

    /// Bytes a second of the machine.
    pub(super) fn mean(&self) -> Option<f64> {
        self.all.mean()
    }

    pub(super) fn capability(&self) -> Capability {
        let blind = "policies do not react to memory bandwidth: they see what BE jobs take of it by the service's latency alone";
        let name = Signal::MemoryBandwidth;
        let evidence = match &self.estimate {
            Some(Ok(estimate)) => Ok(format!("cache misses of all cores, {} bytes each", estimate.bytes_per_miss)),
            None if self.total().is_some() => Ok(format!("{}/mon_data", self.root.display())),
            Some(Err(why)) => Err(format!("{}: does not count; {why}", self.root.display())),
            None => Err(format!("{}: not mounted, or the processor does not count", self.root.display())),
        };
        match (evidence, self.memory.peak) {
            (Ok(evidence), Some(_)) => Capability::available(name, evidence),
            (Ok(evidence), None) => Capability::available(name, evidence)
                .but("bytes are counted, and policies do not react to them without the peak of this machine's memory"),
            (Err(evidence), _) => Capability::missing(name, evidence, blind),
        }
    }

    fn share(&self, rate: &Rate, now: Instant) -> Option<Reading<f64>> {
        let (Reading { value, age }, peak) = (rate.reading(now)?, self.memory.peak?);
        Some(Reading { value: value / peak, age })
    }

    fn total(&self) -> Option<f64> {
        let is_group = |dir: &PathBuf| self.files.exists(&dir.join("mon_data"));
        let others = self.files.children(&self.root).into_iter().filter(is_group);
        others.chain([self.root.clone()]).map(|group| self.of(&group)).sum()
    }

    /// Bytes of a group through all caches; `None` if one is not counted now.
    fn of(&self, group: &Path) -> Option<f64> {
        let caches = self.files.children(&group.join("mon_data"));
        let bytes = |cache: &PathBuf| -> Option<f64> {
            self.files.read(&cache.join("mbm_total_bytes")).ok()?.trim().parse::<u64>().ok().map(|bytes| bytes as f64)
        };
        if caches.is_empty() { None } else { caches.iter().map(bytes).sum() }
    }
}

impl Estimate {
    fn new(bytes_per_miss: f64, group: &Group) -> Result<Self, String> {
        Ok(Self { bytes_per_miss, all: CacheMisses::of_machine()?, jobs: CacheMisses::of_group(group).ok() })
    }

    /// Of the machine and of the jobs, since the begin.
    fn bytes(&mut self) -> (Option<f64>, Option<f64>) {
        let bytes = |misses: &mut CacheMisses| misses.total().ok().map(|misses| misses * self.bytes_per_miss);
        (bytes(&mut self.all), self.jobs.as_mut().and_then(bytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_meter::cgroup::Linux;
    use std::fs;
    use std::time::Duration;

    #[test]
    fn groups_are_added_shares_are_of_the_peak_and_nothing_is_zero_for_want_of_a_count() {
        let home = tempfile::tempdir().unwrap();
        let write = |group: &str, cache: &str, text: &str| {
            let dir = home.path().join(group).join("mon_data").join(cache);
            fs::create_dir_all(&dir).unwrap();
            fs::write(dir.join("mbm_total_bytes"), text).unwrap();
        };
        fs::create_dir_all(home.path().join("info")).unwrap();
        let group = Group::of(Arc::new(Linux), vec![PathBuf::from("/nowhere/be")]);
        let new =
            |peak| MemoryBandwidth::new(Arc::new(Linux), home.path(), &group, Memory { peak, ..Memory::default() });
        assert!(!new(None).capability().available);
        let by_misses = Memory { peak: Some(1e10), bytes_per_miss: Some(64.0) };
        let estimated = MemoryBandwidth::new(Arc::new(Linux), home.path(), &group, by_misses).capability();
        assert!(estimated.evidence.contains(if estimated.available { "64 bytes each" } else { "does not count; " }));
        for (group, cache) in [("", "mon_L3_00"), ("", "mon_L3_01"), ("be", "mon_L3_00"), ("be", "mon_L3_01")] {
            write(group, cache, "1000\n");
        }
        let (mut bandwidth, begin) = (new(Some(10_000.0)), crate::clock::now());
        assert!(bandwidth.capability().available && new(None).capability().consequence.is_some());
        bandwidth.sample(begin);
        write("", "mon_L3_01", "2000\n");
        write("be", "mon_L3_00", "4000\n");
        let end = begin + Duration::from_secs(2);
        bandwidth.sample(end);
        let shares = [bandwidth.all(end), bandwidth.jobs(end)].map(|share| share.unwrap().value);
        assert_eq!((shares, bandwidth.mean()), ([0.2, 0.15], Some(2000.0)));
        write("be", "mon_L3_01", "Unavailable\n");
        bandwidth.sample(end + Duration::from_secs(2));
        assert_eq!((bandwidth.all(end), bandwidth.jobs(end)), (None, None));
    }
}
