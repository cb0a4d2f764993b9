//! Processes of jobs that left their control group and cleared their environment, as one with the rights of root can. They are
//! descendants of this process all the same: it takes in what its jobs leave behind (PR_SET_CHILD_SUBREAPER).

use crate::cgroup::Group;
use brunt_meter::SamplingBudget;
use brunt_meter::proc_stat::stat_field;
use rustix::process::{Pid, WaitOptions, getpid, set_child_subreaper, waitpid};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

#[derive(Debug)]
pub(super) struct Strays {
    /// Whether all children of this process but those that are named are jobs': of a service or a source that is started here they
    /// cannot be told.
    is_certain: bool,
    budget: SamplingBudget,
    /// Those that were outside at the last look: a job that is just being started enters its group soon.
    seen: BTreeSet<u32>,
    /// Those that were told.
    told: BTreeSet<u32>,
}

impl Strays {
    /// `has_others`: whether this process starts a service or a source.
    pub(super) fn new(has_others: bool) -> Self {
        let is_certain = !has_others && set_child_subreaper(Some(getpid())).is_ok();
        Self { is_certain, budget: SamplingBudget::default(), seen: BTreeSet::new(), told: BTreeSet::new() }
    }

    /// Brings processes of jobs back into the group. `others` are children that belong to no job, `jobs` the first processes of
    /// jobs, which are waited for elsewhere; `None` while one is being started. Returns what is to be told.
    pub(super) fn recapture(&mut self, group: &Group, others: &[u32], jobs: Option<BTreeSet<u32>>) -> Vec<String> {
        let Self { is_certain, budget, seen, told } = self;
        let Some((back, parents)) = budget.take(|| (group.recapture(), is_certain.then(parents))) else {
            return Vec::new();
        };
        // One that is being started is in some of the directories of its group already.
        let mut strays = if jobs.is_some() { back } else { BTreeSet::new() };
        if let Some(parents) = parents {
            let found = outside(&parents, group, others);
            let gone = found.intersection(seen).copied();
            strays.extend(gone.inspect(|pid| group.take_back(*pid)));
            *seen = found;
            if let Some(jobs) = jobs {
                reap(&parents, others, &jobs);
            }
        }
        let new = strays.into_iter().filter(|pid| told.insert(*pid));
        new.map(|pid| {
            format!("process {pid} of a job had left its control groups or some of them: it was brought back")
        })
        .collect()
    }

    /// Kills those that are outside of the group, at the end.
    pub(super) fn kill(&self, group: &Group, others: &[u32]) {
        if self.is_certain {
            outside(&parents(), group, others).into_iter().for_each(|pid| group.files().kill(pid));
        }
    }
}

/// Processes with their parents.
fn parents() -> BTreeMap<u32, u32> {
    let pids = fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = pids.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    pids.filter_map(|pid| Some((pid, stat_field(Path::new(&format!("/proc/{pid}/stat")), 4)?))).collect()
}

/// Descendants of this process that are not in the group, nor one of `others` or below them.
fn outside(parents: &BTreeMap<u32, u32>, group: &Group, others: &[u32]) -> BTreeSet<u32> {
    let (own, members) = (std::process::id(), group.members());
    let is_of_a_job = |pid: &u32| {
        let mut pid = *pid;
        // A parent that is not listed has ended: the process has another one by now.
        while let Some(parent) = parents.get(&pid) {
            match *parent {
                _ if others.contains(&pid) => return false,
                parent if parent == own => return true,
                parent => pid = parent,
            }
        }
        false
    };
    parents.keys().copied().filter(|pid| !members.contains(pid)).filter(is_of_a_job).collect()
}

/// Waits for children that have ended and were born by others.
fn reap(parents: &BTreeMap<u32, u32>, others: &[u32], jobs: &BTreeSet<u32>) {
    let own = std::process::id();
    for (pid, _) in parents.iter().filter(|(_, parent)| **parent == own) {
        let state: Option<String> = stat_field(Path::new(&format!("/proc/{pid}/stat")), 3);
        let is_ours = !others.contains(pid) && !jobs.contains(pid);
        if is_ours && state.as_deref() == Some("Z") {
            let pid = i32::try_from(*pid).ok().and_then(Pid::from_raw);
            let _ = waitpid(pid, WaitOptions::NOHANG);
        }
    }
}
