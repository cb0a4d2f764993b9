//! What `/proc/PID/stat` tells of a process: proc_pid_stat(5).

use rustix::process::{Pid, test_kill_process_group};
use std::{fs, path::Path, str::FromStr};

/// Whether any process of the group still runs; the dead that nobody has collected do not count.
pub(crate) fn is_running(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    // In a container whose first process collects nobody, orphans stay as zombies for ever and still answer signals.
    let Ok(processes) = fs::read_dir("/proc") else {
        return true;
    };
    let group = group.as_raw_nonzero().get().to_string();
    processes.flatten().any(|process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // pid (name) state parent group ...; the name may hold anything, so fields are counted from its last bracket.
        let mut fields = stat.rsplit(") ").next().unwrap_or("").split(' ');
        let state = fields.next().unwrap_or("Z");
        fields.nth(1) == Some(group.as_str()) && !matches!(state, "Z" | "X")
    })
}

/// When the process was started, in clock ticks since the boot; `None` if there is none of that number.
pub(crate) fn start_time(pid: u32) -> Option<u64> {
    stat_field(Path::new(&format!("/proc/{pid}/stat")), 22)
}

/// A field of proc_pid_stat(5) from the third on, by the number it has there.
pub(crate) fn stat_field<T: FromStr>(stat: &Path, number: usize) -> Option<T> {
    let stat = fs::read_to_string(stat).ok()?;
    // Counted from the bracket that closes the name, which may hold anything: the state is 3.
    stat.rsplit(") ").next()?.split(' ').nth(number - 3)?.parse().ok()
}
