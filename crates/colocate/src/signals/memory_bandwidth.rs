//! Bytes read from and written to memory, as resctrl counts them by group where the processor monitors it. The root's group counts
//! what is in no other.

use super::rate::Rate;
use super::signal::{Capability, Signal};
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
    /// Bytes a second that the memory can move.
    peak: Option<f64>,
    all: Rate,
    jobs: Rate,
}

impl MemoryBandwidth {
    /// `name` is that of the BE jobs' group.
    pub(super) fn new(files: Arc<dyn Files>, root: &Path, name: &str, peak: Option<f64>) -> Self {
        let (all, jobs) = Default::default();
        Self { files, root: root.to_owned(), jobs_dir: root.join(name), peak, all, jobs }
    }

    pub(super) fn sample(&mut self, now: Instant) {
        self.all.add(now, self.total());
        self.jobs.add(now, self.of(&self.jobs_dir));
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
        match (self.total(), self.peak) {
            (Some(_), Some(_)) => Capability::available(name, format!("{}/mon_data", self.root.display())),
            (Some(_), None) => Capability::available(name, format!("{}/mon_data", self.root.display()))
                .but("bytes are counted, and policies do not react to them without the peak of this machine's memory"),
            (None, _) => {
                let evidence = format!("{}: not mounted, or the processor does not count", self.root.display());
                Capability::missing(name, evidence, blind)
            }
        }
    }

    fn share(&self, rate: &Rate, now: Instant) -> Option<Reading<f64>> {
        let (Reading { value, age }, peak) = (rate.reading(now)?, self.peak?);
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
        let new = |peak| MemoryBandwidth::new(Arc::new(Linux), home.path(), "be", peak);
        assert!(!new(None).capability().available);
        for (group, cache) in [("", "mon_L3_00"), ("", "mon_L3_01"), ("be", "mon_L3_00"), ("be", "mon_L3_01")] {
            write(group, cache, "1000\n");
        }
        let (mut bandwidth, begin) = (new(Some(10_000.0)), Instant::now());
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
