//! The group of one job within the group of all: it is killed and accounted for by itself, and limited with the others and by itself.

use super::{Group, Usage};
use brunt_meter::cgroup::Files;
use std::path::{Path, PathBuf};
use std::{io, time::Duration};

#[derive(Debug, Clone)]
pub struct JobGroup {
    enter: Vec<PathBuf>,
    own: Group,
    limits: JobLimits,
}

/// What a job may use by itself, besides what all jobs may use together.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct JobLimits {
    /// Bytes, swap included.
    pub memory: Option<u64>,
    /// Processes and threads.
    pub processes: Option<u64>,
    /// CPU time, in cores.
    pub cores: Option<f64>,
}

impl JobLimits {
    /// The controllers that they need, by their names in version 2, with a file of version 1.
    fn controllers(&self) -> impl Iterator<Item = (&'static str, &'static str)> {
        [
            self.memory.map(|_| ("memory", "memory.limit_in_bytes")),
            self.processes.map(|_| ("pids", "pids.max")),
            self.cores.map(|_| ("cpu", "cpu.cfs_quota_us")),
        ]
        .into_iter()
        .flatten()
    }
}

impl Group {
    /// Creates the group of a job, with the controllers of its limits where there are such; `id` may contain letters, digits, `-`
    /// and `_`.
    pub fn job(&self, id: &str, limits: &JobLimits) -> io::Result<JobGroup> {
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return Err(io::Error::other(format!("job id '{id}': only letters, digits, - and _ are possible")));
        }
        let has = |dir: &Path, name: &str| self.files.exists(&dir.join(name));
        // One directory of version 2 kills and counts; in version 1 these are two. Of other limits there are some below only where the job
        // has its own.
        let two = self.version_two();
        if let Some(dir) = two {
            self.enable(dir, limits);
        }
        let counts = |dir: &Path| two.is_none() && (has(dir, "freezer.state") || has(dir, "cpuacct.usage"));
        let is_own = |dir: &Path| {
            two.is_some_and(|two| two == dir) || counts(dir) || limits.controllers().any(|(_, file)| has(dir, file))
        };
        let own: Vec<&PathBuf> = self.dirs.iter().filter(|dir| is_own(dir)).collect();
        let below = |dir: &PathBuf| dir.join(format!("job-{id}"));
        let mut made = Vec::new();
        for dir in own.iter().map(|dir| below(dir)) {
            let created = self.files.create_dir(&dir).map(|()| made.push(dir.clone()));
            if let Err(error) = created.and_then(|()| inherit_cpuset(&*self.files, &dir)) {
                made.iter().try_for_each(|dir: &PathBuf| self.files.remove_dir(dir))?;
                return Err(error);
            }
        }
        let enter = self.dirs.iter().map(|dir| if own.contains(&dir) { below(dir) } else { dir.clone() }).collect();
        Ok(JobGroup { enter, own: Self::of(self.files.clone(), made), limits: *limits })
    }

    /// Enables controllers for the groups of jobs in version 2; the one that is missing is noticed where its limit is set.
    fn enable(&self, dir: &Path, limits: &JobLimits) {
        let file = dir.join("cgroup.subtree_control");
        let enabled = self.files.read(&file).unwrap_or_default();
        for (name, _) in limits.controllers().filter(|(name, _)| !enabled.split_whitespace().any(|one| one == *name)) {
            let _ = self.files.write(&file, &format!("+{name}"));
        }
    }
}

/// Copies cores and memory nodes from the parent: without these no process can enter.
pub(super) fn inherit_cpuset(files: &dyn Files, dir: &Path) -> io::Result<()> {
    for name in ["cpuset.mems", "cpuset.cpus"] {
        let (file, parent) = (dir.join(name), dir.parent().unwrap_or(dir).join(name));
        if files.exists(&file) && files.read(&file)?.trim().is_empty() {
            files.write(&file, files.read(&parent)?.trim())?;
        }
    }
    Ok(())
}

impl JobGroup {
    /// What a process must enter to be in the group, see [`crate::exec`].
    pub fn dirs(&self) -> &[PathBuf] {
        &self.enter
    }

    /// The directories of this job alone.
    pub fn own(&self) -> &Group {
        &self.own
    }

    /// What it was made for.
    pub fn limits(&self) -> &JobLimits {
        &self.limits
    }

    /// Kills its processes, also those that left the group of processes or changed their session. Where only version 1 has a
    /// freezer and the group of all jobs is frozen, they end when it is thawed.
    pub fn kill(&self, timeout: Duration) -> io::Result<()> {
        self.own.kill(timeout)
    }

    /// Kills its processes and removes it.
    pub fn remove(&self) -> io::Result<()> {
        self.own.remove()
    }

    pub fn is_empty(&self) -> bool {
        self.own.members().is_empty()
    }

    /// CPU time, and what else the job has a limit of.
    pub fn usage(&self) -> Usage {
        self.own.usage()
    }
}
