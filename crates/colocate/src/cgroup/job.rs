//! The group of one job within the group of all: it is killed and accounted for by itself, and limited with the others.

use super::{Group, Usage};
use std::path::PathBuf;
use std::{io, time::Duration};

#[derive(Debug, Clone)]
pub struct JobGroup {
    enter: Vec<PathBuf>,
    own: Group,
}

impl Group {
    /// Creates the group of a job; `id` may contain letters, digits, `-` and `_`.
    pub fn job(&self, id: &str) -> io::Result<JobGroup> {
        if id.is_empty() || !id.chars().all(|c| c.is_ascii_alphanumeric() || "-_".contains(c)) {
            return Err(io::Error::other(format!("job id '{id}': only letters, digits, - and _ are possible")));
        }
        let has = |dir: &PathBuf, names: &[&str]| names.iter().any(|name| self.files.exists(&dir.join(name)));
        // One directory of version 2 kills and counts; in version 1 these are two. Of no other limits are there any below.
        let own: Vec<&PathBuf> = match self.version_two() {
            Some(dir) => vec![dir],
            None => self.dirs.iter().filter(|dir| has(dir, &["freezer.state", "cpuacct.usage"])).collect(),
        };
        let below = |dir: &PathBuf| dir.join(format!("job-{id}"));
        let mut made = Vec::new();
        for dir in own.iter().map(|dir| below(dir)) {
            if let Err(error) = self.files.create_dir(&dir) {
                made.iter().try_for_each(|dir: &PathBuf| self.files.remove_dir(dir))?;
                return Err(error);
            }
            made.push(dir);
        }
        let enter = self.dirs.iter().map(|dir| if own.contains(&dir) { below(dir) } else { dir.clone() }).collect();
        Ok(JobGroup { enter, own: Self::of(self.files.clone(), made) })
    }
}

impl JobGroup {
    /// What a process must enter to be in the group, see [`crate::exec`].
    pub fn dirs(&self) -> &[PathBuf] {
        &self.enter
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

    /// CPU time alone is accounted by job.
    pub fn usage(&self) -> Usage {
        self.own.usage()
    }
}
