//! Reads `/proc/PID/stat`, see proc_pid_stat(5), and what a process id means: the boot and the pid namespace that it is of.

use rustix::process::{Pid, test_kill_process_group};
use std::os::unix::fs::MetadataExt;
use std::{fs, path::Path, str::FromStr};

/// Whether any process of the group still runs. Zombies do not count: in a container whose init reaps nothing, orphans stay
/// zombies forever and still accept signals.
pub fn is_running(group: Pid) -> bool {
    if test_kill_process_group(group).is_err() {
        return false;
    }
    members(group).is_none_or(|mut members| members.next().is_some())
}

/// The processes of the group that still run; `None` if `/proc` cannot be read.
pub fn members(group: Pid) -> Option<impl Iterator<Item = u32>> {
    let group = group.as_raw_nonzero().get().to_string();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    Some(processes.filter_map(move |process| {
        let stat = fs::read_to_string(process.path().join("stat")).unwrap_or_default();
        // pid (name) state parent group ...; the name may contain anything, so fields are counted after its last bracket.
        let mut fields = stat.rsplit(") ").next().unwrap_or("").split(' ');
        let state = fields.next().unwrap_or("Z");
        let is_member = fields.nth(1) == Some(group.as_str()) && !matches!(state, "Z" | "X");
        process.file_name().to_str()?.parse().ok().filter(|_| is_member)
    }))
}

/// Whether a process has ended, as a zombie also has.
pub fn has_ended(pid: u32) -> bool {
    let state: Option<char> = stat_field(Path::new(&format!("/proc/{pid}/stat")), 3);
    state.is_none_or(|state| matches!(state, 'Z' | 'X'))
}

/// Start time of a process in clock ticks since boot; `None` if there is no such process.
pub fn start_time(pid: u32) -> Option<u64> {
    stat_field(Path::new(&format!("/proc/{pid}/stat")), 22)
}

/// Boot id of the kernel: start times of another boot mean nothing. Empty where it cannot be read.
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default().trim().to_owned()
}

/// Inode of our pid namespace: process ids of another one mean nothing here. 0 where it cannot be read.
pub fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

/// A field from the third (the state) on, by its number in proc_pid_stat(5).
pub fn stat_field<T: FromStr>(stat: &Path, number: usize) -> Option<T> {
    field(&fs::read_to_string(stat).ok()?, number)
}

/// The same of a text that has been read.
pub(crate) fn field<T: FromStr>(stat: &str, number: usize) -> Option<T> {
    stat.rsplit(") ").next()?.split(' ').nth(number - 3)?.parse().ok()
}
