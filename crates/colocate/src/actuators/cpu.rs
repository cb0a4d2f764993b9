//! CPU time: the first cores of a list, and a quota for what is not a whole number of cores.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::cgroup::{Caps, Group};
use brunt_meter::cgroup::{Files, tree};
use brunt_results::Cores;
use std::path::{Path, PathBuf};
use std::{io, sync::Arc};

/// Period of the quota, in microseconds. Short, because BE jobs use it up in one go at its beginning.
const PERIOD_US: u64 = 10_000;
/// Bounds of the kernel for quotas and periods, in microseconds.
const LEAST_US: u64 = 1_000;
const LONGEST_US: u64 = 1_000_000;

#[derive(Debug)]
pub(super) struct Cpu {
    quota: Option<Quota>,
    cpuset: Option<Knob>,
    caps: Arc<Caps>,
    files: Arc<dyn Files>,
    order: Vec<usize>,
    floor: f64,
    missing: String,
}

#[derive(Debug)]
enum Quota {
    /// `cpu.max` of version 2.
    Max(Knob),
    Cfs {
        quota: Knob,
        period: Knob,
    },
}

/// What the kernel is told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Limits {
    pub(super) cores: Vec<usize>,
    /// Quota and period in microseconds.
    pub(super) quota: Option<(u64, u64)>,
}

impl Limits {
    /// `amount` cores of those in `order`, which is not empty.
    pub(super) fn of(amount: f64, order: &[usize]) -> Self {
        let most = order.len() as f64;
        // Not a number counts as nothing.
        let amount = if amount > 0.0 { amount.min(most) } else { 0.0 };
        // A rounding error is no reason for another core.
        let count = ((amount - 1e-6).ceil().max(1.0) as usize).min(order.len());
        let cores = order[..count].to_vec();
        if amount > count as f64 - 1e-6 {
            return Self { cores, quota: None };
        }
        Self { cores, quota: Some(quota_of(amount)) }
    }
}

/// Quota and period in microseconds of CPU time in cores.
fn quota_of(amount: f64) -> (u64, u64) {
    let quota = (amount * PERIOD_US as f64).floor() as u64;
    match quota {
        LEAST_US.. => (quota, PERIOD_US),
        // Less than the kernel's least quota in a longer period.
        _ => (LEAST_US, ((LEAST_US as f64 / amount).ceil() as u64).clamp(PERIOD_US, LONGEST_US)),
    }
}

/// Limits the CPU time of a job by itself. `of_all` is the group of all jobs.
pub(super) fn limit_job(job: &Group, of_all: &Group, cores: f64) -> io::Result<()> {
    if let Some(knob) = Knob::find(job, &["cpu.max"]) {
        return Quota::Max(knob).set(Some(quota_of(cores))).map(drop);
    }
    let file = job.file(&["cpu.cfs_quota_us"]).ok_or_else(|| io::Error::other(of_all.why_missing("cpu")))?;
    let dir = file.parent().unwrap_or(&file);
    let now = Quota::cfs(job.files(), dir.parent().unwrap_or(dir)).cores()?;
    Quota::cfs(job.files(), dir).set(Some(quota_of(now.map_or(cores, |now| now.min(cores)))))?;
    of_all.caps().add(dir, cores);
    Ok(())
}

impl Cpu {
    pub(super) fn new(group: &Group, order: &[usize], floor: f64) -> Self {
        let max = Knob::find(group, &["cpu.max"]).map(Quota::Max);
        let cfs = || Some(Quota::cfs(group.files(), group.file(&["cpu.cfs_quota_us"])?.parent()?));
        let cpuset = Knob::find(group, &["cpuset.cpus"]).filter(|_| !order.is_empty());
        let missing = ["cpu", "cpuset"].map(|name| group.why_missing(name)).join("; ");
        let order = if order.is_empty() { vec![0] } else { order.to_vec() };
        let (caps, files) = (group.caps().clone(), group.files().clone());
        Self { quota: max.or_else(cfs), cpuset, caps, files, order, floor, missing }
    }

    fn set(&self, amount: f64) -> io::Result<bool> {
        let mut limits = Limits::of(amount, &self.order);
        let whole = (limits.cores.len() as u64 * PERIOD_US, PERIOD_US);
        if self.cpuset.is_none() {
            // The quota alone bounds it.
            limits.quota = limits.quota.or(Some(whole));
        } else if self.quota.is_none() {
            // Whole cores alone: no more than is allowed, but for the first.
            limits.cores.truncate((amount + 1e-6).floor().max(1.0) as usize);
        }
        let quota = self.quota.as_ref().map_or(Ok(false), |quota| self.set_quota(quota, limits.quota))?;
        let cores = self.cpuset.as_ref().map_or(Ok(false), |knob| self.set_cores(knob, limits.cores))?;
        Ok(quota || cores)
    }

    /// Jobs with less than all may have are lowered before the limit of all, and raised after it.
    fn set_quota(&self, of_all: &Quota, limit: Option<(u64, u64)>) -> io::Result<bool> {
        let all = limit.map_or(f64::INFINITY, |(quota, period)| quota as f64 / period as f64);
        let caps = self.caps.all(&*self.files).into_iter();
        let jobs: Vec<_> = caps.map(|(dir, cores)| (Quota::cfs(&self.files, &dir), quota_of(cores.min(all)))).collect();
        let mut changed = false;
        for (job, (quota, period)) in &jobs {
            if job.cores()?.is_none_or(|now| now > *quota as f64 / *period as f64) {
                changed |= job.set(Some((*quota, *period)))?;
            }
        }
        changed |= of_all.set(limit)?;
        jobs.iter().try_fold(changed, |changed, (job, limit)| Ok(job.set(Some(*limit))? | changed))
    }

    /// Groups that jobs made below ours may not have more cores than ours: wider from the top, narrower from the bottom.
    fn set_cores(&self, knob: &Knob, cores: Vec<usize>) -> io::Result<bool> {
        let wanted = Cores(sorted(cores)).to_string();
        let dir = knob.file().parent().map(PathBuf::from).unwrap_or_default();
        let below: Vec<Knob> = tree(&*self.files, &dir)
            .into_iter()
            .skip(1)
            .map(|dir| Knob::at(&self.files, dir.join("cpuset.cpus")))
            .filter(|knob| self.files.exists(knob.file()))
            .collect();
        if below.is_empty() {
            return knob.set(&wanted);
        }
        let both = |knob: &Knob| {
            let now: Cores = knob.read()?.trim().parse().unwrap_or(Cores(Vec::new()));
            let wanted: Cores = wanted.parse().unwrap_or(Cores(Vec::new()));
            knob.set(&Cores(sorted([now.0, wanted.0].concat())).to_string())
        };
        let wider =
            std::iter::once(knob).chain(&below).try_fold(false, |any, knob| Ok::<_, io::Error>(both(knob)? | any))?;
        let narrower = below
            .iter()
            .rev()
            .chain([knob])
            .try_fold(false, |any, knob| Ok::<_, io::Error>(knob.set(&wanted)? | any))?;
        Ok(wider || narrower)
    }
}

fn sorted(mut cores: Vec<usize>) -> Vec<usize> {
    cores.sort_unstable();
    cores.dedup();
    cores
}

impl Quota {
    /// That of a directory of version 1.
    fn cfs(files: &Arc<dyn Files>, dir: &Path) -> Self {
        let [quota, period] = ["cpu.cfs_quota_us", "cpu.cfs_period_us"].map(|name| Knob::at(files, dir.join(name)));
        Self::Cfs { quota, period }
    }

    /// The limit in cores; `None` without one.
    fn cores(&self) -> io::Result<Option<f64>> {
        let Self::Cfs { quota, period } = self else { return Ok(None) };
        let number = |knob: &Knob| Ok::<_, io::Error>(knob.read()?.trim().parse::<f64>().unwrap_or(-1.0));
        let (quota, period) = (number(quota)?, number(period)?);
        Ok((quota > 0.0 && period > 0.0).then_some(quota / period))
    }

    fn set(&self, quota: Option<(u64, u64)>) -> io::Result<bool> {
        match (self, quota) {
            (Self::Max(knob), Some((quota, period))) => knob.set(&format!("{quota} {period}")),
            (Self::Max(knob), None) => knob.set(&format!("max {PERIOD_US}")),
            (Self::Cfs { quota: knob, .. }, None) => knob.set("-1"),
            (Self::Cfs { quota: knob, period: periods }, Some((quota, period))) => {
                let before: u64 = periods.read()?.trim().parse().unwrap_or(0);
                // In this order the share between the two writes lies between the others; without a quota a period has no effect.
                let mut writes = [(periods, period), (knob, quota)];
                if period < before && self.cores()?.is_some() {
                    writes.reverse();
                }
                writes.iter().try_fold(false, |any, (knob, value)| Ok(knob.set(&value.to_string())? | any))
            }
        }
    }

    fn shown(&self) -> String {
        match self {
            Self::Max(knob) | Self::Cfs { quota: knob, .. } => knob.shown(),
        }
    }
}

impl Part for Cpu {
    fn resource(&self) -> Resource {
        Resource::Cpu
    }

    fn capability(&self) -> Capability {
        match (&self.quota, &self.cpuset) {
            (Some(quota), Some(cores)) => {
                Capability::available(Resource::Cpu, format!("{}, {}", quota.shown(), cores.shown()))
            }
            (Some(quota), None) => Capability::available(Resource::Cpu, quota.shown())
                .but("BE jobs run on any core; those of the LC service are not spared"),
            (None, Some(cores)) => Capability::available(Resource::Cpu, cores.shown())
                .but("BE jobs get whole cores, at least one, or none when they are frozen"),
            (None, None) => {
                let consequence = "CPU time of BE jobs is not limited: they run or are frozen";
                Capability::missing(Resource::Cpu, &*self.missing, consequence)
            }
        }
    }

    fn apply(&mut self, allotment: &Allotment) -> io::Result<bool> {
        self.set(allotment.cores)
    }

    fn floor(&mut self) -> io::Result<bool> {
        self.set(self.floor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Never more than allotted, except below what the kernel can express; at most 0.1 % of a core less.
        #[test]
        fn the_kernel_is_told_what_was_allotted(amount in 0.0f64..5.0, count in 1usize..5) {
            let order: Vec<usize> = (0..count).rev().collect();
            let limits = Limits::of(amount, &order);
            prop_assert_eq!(&limits.cores[..], &order[..limits.cores.len()]);
            let amount = amount.min(count as f64);
            prop_assert!(limits.cores.len() as f64 >= amount - 1e-5);
            prop_assert!(limits.cores.len() == 1 || (limits.cores.len() - 1) as f64 <= amount);
            let given = limits.quota.map_or(limits.cores.len() as f64, |(quota, period)| quota as f64 / period as f64);
            prop_assert!(given <= amount.max(0.001) + 1e-5, "{} for {}", given, amount);
            prop_assert!(given >= amount - 0.001, "{} for {}", given, amount);
            if let Some((quota, period)) = limits.quota {
                prop_assert!(quota >= LEAST_US && (PERIOD_US..=LONGEST_US).contains(&period));
            }
        }
    }

    #[test]
    fn odd_amounts_are_bounded() {
        assert_eq!(Limits::of(f64::NAN, &[1, 0]), Limits { cores: vec![1], quota: Some((1_000, 1_000_000)) });
        assert_eq!(Limits::of(-1.0, &[1, 0]).cores, [1]);
        assert_eq!(Limits::of(f64::INFINITY, &[1, 0]), Limits { cores: vec![1, 0], quota: None });
        assert_eq!(Limits::of(1.0, &[1, 0]), Limits { cores: vec![1], quota: None });
        assert_eq!(Limits::of(0.05, &[1, 0]), Limits { cores: vec![1], quota: Some((1_000, 20_000)) });
        assert_eq!(Limits::of(1.5, &[1, 0]), Limits { cores: vec![1, 0], quota: Some((15_000, 10_000)) });
    }
}
