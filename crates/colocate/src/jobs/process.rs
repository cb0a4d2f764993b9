//! Processes of an attempt: its process group, and those that left the group, by a variable in their environment.

use crate::queue::AttemptId;
use brunt_meter::marked;
use brunt_meter::proc_stat::{is_running, start_time};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process_group, pidfd_open, pidfd_send_signal};
use std::ffi::{OsStr, OsString};
use std::path::Path;

/// Variable in the environment of every process of a job: queue and attempt.
pub(super) const MARK: &str = "BRUNT_JOB";

/// Value of [`MARK`].
pub(super) fn mark(queue: &Path, id: AttemptId) -> OsString {
    let mut mark = queue.as_os_str().to_owned();
    mark.push(format!("#{id}"));
    mark
}

/// Kills a process group; whether it has processes that run.
pub(super) fn kill_group(group: Pid) -> bool {
    kill_process_group(group, Signal::KILL).is_ok() && is_running(group)
}

/// Kills the group of a recorded process, if it is certainly the same one; whether it has processes that run.
pub(super) fn kill_recorded((pid, started): (u32, u64)) -> bool {
    let group = i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw);
    // With the leader gone, the kernel does not use the id of a group again while the group has members.
    let is_same = start_time(pid).is_none_or(|now| now == started);
    group.is_some_and(|group| is_same && group != rustix::process::getpgrp() && kill_group(group))
}

/// Kills the processes with this mark; whether there were any, or may be. One that was forked meanwhile is found by the next
/// call.
pub(super) fn kill_marked(mark: &OsStr) -> bool {
    let found = marked::find(MARK, mark);
    let mut any = found.undecided;
    for id in found.marked.into_iter().filter(|id| *id != std::process::id()) {
        let pid = i32::try_from(id).ok().and_then(Pid::from_raw);
        let process = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
        // The id may have become that of another process.
        if let Some(process) = process.filter(|_| marked::is_marked(id, MARK, mark)) {
            any = true;
            let _ = pidfd_send_signal(process, Signal::KILL);
        }
    }
    any
}
