//! The lines of a journal.

use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{fs, io};

/// A change of this machine that can be undone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// A directory of a control group, created.
    Group(PathBuf),
    /// A group of resctrl, created.
    Resctrl(PathBuf),
    /// A file that got another value.
    Value { file: PathBuf, old: String, new: String },
    /// A hierarchy of control groups, mounted on a directory created for it.
    Mount(PathBuf),
    /// The queueing discipline of an interface that had the default one of the kernel.
    Qdisc { interface: String },
}

/// The process that makes the changes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Owner {
    /// Version of the format.
    pub journal: u32,
    /// Boot id of the kernel.
    pub boot: String,
    pub pid: u32,
    /// Start time in clock ticks since boot, as in `/proc/PID/stat`.
    pub started: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contents {
    pub owner: Owner,
    pub changes: Vec<Change>,
    /// Complete lines that are no change.
    pub unreadable: Vec<String>,
}

impl Contents {
    pub fn read(path: &Path) -> io::Result<Self> {
        Self::parse(&String::from_utf8_lossy(&fs::read(path)?)).map_err(io::Error::other)
    }

    pub fn parse(text: &str) -> Result<Self, String> {
        // What follows the last line end was never completed, so that its change was not made.
        let complete = text.rsplit_once('\n').map_or("", |(complete, _)| complete);
        let mut lines = complete.split('\n').filter(|line| !line.is_empty());
        let Some(first) = lines.next() else {
            let owner = Owner { journal: 1, boot: String::new(), pid: 0, started: 0 };
            return Ok(Self { owner, changes: Vec::new(), unreadable: Vec::new() });
        };
        let owner: Owner =
            serde_json::from_str(first).map_err(|error| format!("its first line is no owner: {error}"))?;
        if owner.journal != 1 {
            return Err(format!("version {} is of another brunt, which must undo it", owner.journal));
        }
        let (mut changes, mut unreadable) = (Vec::new(), Vec::new());
        for line in lines {
            match serde_json::from_str(line) {
                Ok(change) => changes.push(change),
                Err(error) => unreadable.push(format!("no change of this machine: {line}: {error}")),
            }
        }
        Ok(Self { owner, changes, unreadable })
    }

    /// The directories of all control groups.
    pub fn groups(&self) -> Vec<PathBuf> {
        groups(&self.changes)
    }
}

pub(super) fn groups(changes: &[Change]) -> Vec<PathBuf> {
    let group = |change: &Change| match change {
        Change::Group(dir) => Some(dir.clone()),
        _ => None,
    };
    changes.iter().filter_map(group).filter(|dir| is_ours(dir)).collect()
}

/// Whether the directory has a name that only our groups have.
pub(super) fn is_ours(dir: &Path) -> bool {
    dir.file_name().and_then(|name| name.to_str()).is_some_and(brunt_meter::cgroup::is_name)
}
