//! The live process groups of a run, in a file: cleans up after a run that was killed.
//!
//! The next run in the same directory reads the file first and kills what is left. Invariant: it kills only processes that
//! are certainly the recorded ones. Process ids are reused; start times and boot ids are not. A process started just before
//! the kill, not recorded yet, is found by a variable in its environment.

use crate::clock::poll;
use brunt_meter::poll::every;
use brunt_meter::proc_stat::{boot_id, is_running, start_time, stat_field};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::{collections::HashSet, fs, io, sync::Mutex, time::Duration};

/// Environment variable of every program that a run starts: the path of the run's registry.
const MARK: &str = "BRUNT_RUN";

#[derive(Debug, Serialize, Deserialize)]
struct Contents {
    boot: String,
    groups: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    group: u32,
    /// Clock ticks since boot, as in `/proc/PID/stat`.
    started: u64,
}

#[derive(Debug)]
pub struct ProcessRegistry {
    path: PathBuf,
    contents: Mutex<Contents>,
}

impl ProcessRegistry {
    /// Opens the registry at `path`. Kills every group that an earlier run left there; returns their number.
    pub fn open(path: &Path) -> io::Result<(Self, usize)> {
        let boot = boot_id();
        let earlier: Option<Contents> = fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let groups = earlier.filter(|earlier| earlier.boot == boot).map_or(Vec::new(), |earlier| earlier.groups);
        let mut killed = groups.iter().filter(|entry| kill_recorded(entry)).count();
        let registry = Self { path: path.to_owned(), contents: Mutex::new(Contents { boot, groups: Vec::new() }) };
        registry.write()?;
        killed += marked(&registry.mark()).into_iter().filter(|group| kill(*group)).count();
        Ok((registry, killed))
    }

    /// Name and value of the variable that marks the programs of this run.
    pub fn mark(&self) -> (&'static str, PathBuf) {
        (MARK, fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone()))
    }

    pub fn add(&self, group: u32) -> io::Result<()> {
        let started = start_time(group).unwrap_or(0);
        self.contents().groups.push(Entry { group, started });
        self.write()
    }

    pub fn remove(&self, group: u32) {
        self.contents().groups.retain(|entry| entry.group != group);
        // If this fails, the next run looks for a group that does not exist.
        let _ = self.write();
    }

    fn contents(&self) -> std::sync::MutexGuard<'_, Contents> {
        // A panic in another thread must not prevent the groups from being killed.
        self.contents.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&*self.contents()).map_err(io::Error::other)?;
        let temporary = self.path.with_extension("new");
        fs::write(&temporary, text)
            .and_then(|()| fs::rename(&temporary, &self.path))
            .map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", self.path.display())))
    }
}

/// Kills the group if it is still the recorded one; true if it had running processes.
fn kill_recorded(entry: &Entry) -> bool {
    let Some(group) = i32::try_from(entry.group).ok().and_then(Pid::from_raw) else { return false };
    let same = match start_time(entry.group) {
        Some(started) => started == entry.started,
        // The leader is gone. The kernel does not reuse the id of a group while the group has members.
        None => test_kill_process_group(group).is_ok(),
    };
    same && entry.started != 0 && kill(group)
}

/// Kills a group and waits until it is gone; true if it had running processes.
fn kill(group: Pid) -> bool {
    // Never init's group, nor our own, which a marked program may have joined.
    let is_foreign = group.as_raw_nonzero().get() >= 2 && group != rustix::process::getpgrp();
    if !is_foreign || !is_running(group) {
        return false;
    }
    let _ = kill_process_group(group, Signal::KILL);
    poll(Duration::from_secs(5), every(5), || (!is_running(group)).then_some(()));
    true
}

/// The groups of all processes that have this variable.
fn marked((name, path): &(&'static str, PathBuf)) -> HashSet<Pid> {
    let group = |pid: u32| Pid::from_raw(stat_field(Path::new(&format!("/proc/{pid}/stat")), 5)?);
    brunt_meter::marked::find(name, path.as_os_str()).marked.into_iter().filter_map(group).collect()
}
