//! Reads `/proc/PID/stat`, see proc_pid_stat(5).

use rustix::process::{Pid, test_kill_process_group};
use std::{fs, path::Path, str::FromStr};

/// Whether any process of the group still runs. Zombies do not count: in a container whose init reaps nothing, orphans stay
/// zombies forever and still accept signals.
pub(crate) fn is_running(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    let Ok(processes) = fs::read_dir("/proc") else { return true };
    let group = group.as_raw_nonzero().get().to_string();
    processes.flatten().any(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // pid (name) state parent group ...; the name may contain anything, so fields are counted after its last bracket.
        let mut fields = stat.rsplit(") ").next().unwrap_or("").split(' ');
        let state = fields.next().unwrap_or("Z");
        fields.nth(1) == Some(group.as_str()) && !matches!(state, "Z" | "X")
    })
}

/// Start time of a process in clock ticks since boot; `None` if there is no such process.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    stat_field(Path::new(&format!("/proc/{pid}/stat")), 22)
}

/// A field from the third (the state) on, by its number in proc_pid_stat(5).
pub(crate) fn stat_field<T: FromStr>(stat: &Path, number: usize) -> Option<T> {
    let stat = fs::read_to_string(stat).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(number - 3)?.parse().ok()
}
