//! The control group of the BE jobs: one directory in each hierarchy that it needs, all of one name.
//!
//! Invariants:
//! - Every directory is in the journal before it is created, and only directories created here are changed. Where the kernel
//!   would have to enable a controller in a group that is not ours, the controller counts as missing.
//! - The group can be frozen; where no such group can be made there is none at all.

mod caps;
mod create;
mod job;
mod usage;

pub use caps::Caps;
pub use job::{JobGroup, JobLimits};
pub use usage::{Pressure, Usage};

use crate::{escapes, journal::Journal};
use brunt_meter::cgroup::{self, Files, Freeze, Hierarchy};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{io, time::Duration};

#[derive(Debug, Clone)]
pub struct Group {
    files: Arc<dyn Files>,
    /// In the order in which a process enters them: the one that freezes comes last.
    dirs: Vec<PathBuf>,
    /// Why a controller is missing, by its name in version 1.
    missing: Vec<(&'static str, String)>,
    caps: Arc<Caps>,
}

impl Group {
    /// Creates the directories below our own group, or as close to it as possible; `network` is for one of `net_prio`.
    pub fn create(
        files: Arc<dyn Files>,
        hierarchies: &[Hierarchy],
        network: bool,
        journal: &mut Journal,
    ) -> io::Result<Self> {
        create::create(files, hierarchies, network, journal)
    }

    /// A group whose directories exist.
    pub fn of(files: Arc<dyn Files>, dirs: Vec<PathBuf>) -> Self {
        Self { files, dirs, missing: Vec::new(), caps: Arc::default() }
    }

    /// What a process must enter to be in the group, see [`crate::exec`].
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    pub fn files(&self) -> &Arc<dyn Files> {
        &self.files
    }

    /// What single jobs may use of the CPU time of all.
    pub fn caps(&self) -> &Arc<Caps> {
        &self.caps
    }

    /// The name of its directories; also in the environment of its processes.
    pub fn name(&self) -> String {
        self.dirs.iter().find_map(|dir| Some(dir.file_name()?.to_str()?.to_owned())).unwrap_or_default()
    }

    /// The first control file with one of these names.
    pub fn file(&self, names: &[&str]) -> Option<PathBuf> {
        let mut all = names.iter().flat_map(|name| self.dirs.iter().map(move |dir| dir.join(name)));
        all.find(|file| self.files.exists(file))
    }

    /// Its directory of version 2.
    pub fn version_two(&self) -> Option<&PathBuf> {
        self.dirs.iter().find(|dir| self.files.exists(&dir.join("cgroup.events")))
    }

    /// Why there is no control file of this controller, by its name in version 1.
    pub fn why_missing(&self, controller: &str) -> String {
        let why = self.missing.iter().find(|(name, _)| *name == controller).map(|(_, why)| why.clone());
        why.unwrap_or_else(|| format!("no mounted hierarchy has the controller {controller} for groups made here"))
    }

    /// Takes effect some time later, see [`Self::is_frozen`].
    pub fn freeze(&self) -> io::Result<()> {
        cgroup::set_frozen(&*self.files, &self.dirs, Freeze::Frozen)
    }

    pub fn thaw(&self) -> io::Result<()> {
        cgroup::set_frozen(&*self.files, &self.dirs, Freeze::Thawed)
    }

    /// Whether none of its processes can run.
    pub fn is_frozen(&self) -> bool {
        cgroup::is_frozen(&*self.files, &self.dirs)
    }

    pub fn members(&self) -> BTreeSet<u32> {
        cgroup::members(&*self.files, &self.dirs)
    }

    /// Kills all its processes. No process can be started in it afterwards where it limits their number: the limit is 0.
    pub fn kill(&self, timeout: Duration) -> io::Result<()> {
        let gone = cgroup::kill(&*self.files, &self.dirs, timeout);
        escapes::kill(&*self.files, &self.dirs);
        let left = || io::Error::other(format!("processes {:?} outlive SIGKILL by {timeout:?}", self.members()));
        gone.then_some(()).ok_or_else(left)
    }

    /// Kills all its processes and removes the directories.
    pub fn remove(&self) -> io::Result<()> {
        escapes::kill(&*self.files, &self.dirs);
        cgroup::remove(&*self.files, &self.dirs)
    }

    /// Moves a process into it, as far as that is possible.
    pub fn take_back(&self, pid: u32) {
        for dir in &self.dirs {
            let _ = enter(&*self.files, std::slice::from_ref(dir), &pid.to_string());
        }
    }

    /// Moves processes of jobs that left some of the directories or all of them back, and returns those.
    pub fn recapture(&self) -> BTreeSet<u32> {
        let mut all = escapes::escaped(&*self.files, &self.dirs).pids;
        all.extend(self.members());
        let mut strays: BTreeSet<u32> = BTreeSet::new();
        for dir in &self.dirs {
            let dir = std::slice::from_ref(dir);
            let inside = cgroup::members(&*self.files, dir);
            // One that has ended is no stray.
            let outside = all.iter().filter(|pid| !inside.contains(pid));
            strays.extend(outside.filter(|pid| enter(&*self.files, dir, &pid.to_string()).is_ok()));
        }
        strays
    }
}

/// Moves a process into the directories; `0` is the calling one.
pub fn enter(files: &dyn Files, dirs: &[PathBuf], pid: &str) -> io::Result<()> {
    let list = |dir: &Path| {
        // Directories of resctrl have no other list.
        let procs = dir.join("cgroup.procs");
        if files.exists(&procs) { procs } else { dir.join("tasks") }
    };
    dirs.iter().try_for_each(|dir| files.write(&list(dir), pid))
}
