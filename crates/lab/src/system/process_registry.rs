//! The process groups that are alive, on disk: the one thing that can clean up after a run that was killed itself.
//!
//! The next run in the same directory reads it first and ends what is left. It never touches a process that is not
//! certainly the one that was written down: process ids are used again, start times and boots are not. What was started
//! in the moment of the kill, before it could be written down, is known by a variable of its environment.

use super::proc_stat::{is_running, start_time, stat_field};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};
use serde::{Deserialize, Serialize};
use std::{
    collections::HashSet,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{Path, PathBuf},
    sync::Mutex,
    time::{Duration, Instant},
};

/// Every program that a run starts has this variable: the path of the run's ledger.
const MARK: &str = "BRUNT_RUN";

#[derive(Debug, Default, Serialize, Deserialize)]
struct Contents {
    boot: String,
    groups: Vec<Entry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
struct Entry {
    group: u32,
    /// Clock ticks since the boot, as in /proc/PID/stat.
    started: u64,
}

/// The groups that are alive, in memory and in a file.
#[derive(Debug)]
pub struct ProcessRegistry {
    path: PathBuf,
    page: Mutex<Contents>,
}

impl ProcessRegistry {
    /// Opens the ledger at `path`; ends every group that an earlier run has left there, and says how many there were.
    pub fn open(path: &Path) -> io::Result<(Self, usize)> {
        let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned();
        let earlier: Contents =
            fs::read(path).ok().and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
        let mut ended = 0;
        if earlier.boot == boot {
            ended = earlier.groups.iter().filter(|entry| end(entry)).count();
        }
        let ledger = Self { path: path.to_owned(), page: Mutex::new(Contents { boot, groups: Vec::new() }) };
        ledger.write()?;
        ended += marked(&ledger.mark()).into_iter().filter(|group| end_group(*group)).count();
        Ok((ledger, ended))
    }

    /// Name and value of the variable that marks the programs of this run.
    pub fn mark(&self) -> (&'static str, PathBuf) {
        (MARK, fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone()))
    }

    /// Notes a group that has just been started.
    pub fn add(&self, group: u32) -> io::Result<()> {
        let started = start_time(group).unwrap_or(0);
        self.page().groups.push(Entry { group, started });
        self.write()
    }

    /// Forgets a group that is gone.
    pub fn remove(&self, group: u32) {
        self.page().groups.retain(|entry| entry.group != group);
        // At worst the next run looks for a group that does not exist.
        let _ = self.write();
    }

    fn page(&self) -> std::sync::MutexGuard<'_, Contents> {
        // A panic elsewhere must not keep the groups from being ended.
        self.page.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    fn write(&self) -> io::Result<()> {
        let text = serde_json::to_vec(&*self.page()).map_err(io::Error::other)?;
        let beside = self.path.with_extension("new");
        fs::write(&beside, text)
            .and_then(|()| fs::rename(&beside, &self.path))
            .map_err(|e| io::Error::new(e.kind(), format!("cannot write {}: {e}", self.path.display())))
    }
}

/// Kills the group if it is still the one that was noted; true if there was something to kill.
fn end(entry: &Entry) -> bool {
    let Some(group) = i32::try_from(entry.group).ok().and_then(Pid::from_raw) else {
        return false;
    };
    let same = match start_time(entry.group) {
        Some(started) => started == entry.started,
        // Its first process is gone. A group's number is not given out again while the group has members.
        None => test_kill_process_group(group).is_ok(),
    };
    same && entry.started != 0 && end_group(group)
}

/// Kills a group of which something runs; true if there was something to kill.
fn end_group(group: Pid) -> bool {
    // A program that changed its group itself, or init, is not for us to kill; nor are we.
    let is_ours = group.as_raw_nonzero().get() >= 2 && group != rustix::process::getpgrp();
    if !is_ours || !is_running(group) {
        return false;
    }
    let _ = kill_process_group(group, Signal::KILL);
    let since = Instant::now();
    while is_running(group) && since.elapsed() < Duration::from_secs(5) {
        std::thread::sleep(Duration::from_millis(5));
    }
    true
}

/// The groups of all processes that bear this mark.
fn marked((name, path): &(&'static str, PathBuf)) -> HashSet<Pid> {
    let mark = [name.as_bytes(), b"=", path.as_os_str().as_bytes()].concat();
    let bears = |process: &fs::DirEntry| {
        let environment = fs::read(process.path().join("environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark)
    };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten().filter(bears);
    let group = |process: fs::DirEntry| Pid::from_raw(stat_field(&process.path().join("stat"), 5)?);
    processes.filter_map(group).collect()
}
