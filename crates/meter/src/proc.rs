//! The few lines of `/proc` that the meters read often. Absent means that the process is gone or may not be read.

use procfs::process::Process;
use std::fs;

/// One line of `/proc/PID/stat`, as far as it matters here.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Stat {
    pub pid: u32,
    pub parent: u32,
    /// Ticks since boot; with the pid this identifies a process for good.
    pub started: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Of children that ended and were waited for, with their own such children.
    pub reaped_user_ticks: u64,
    /// As above, in the kernel.
    pub reaped_system_ticks: u64,
    pub threads: u64,
    pub rss_bytes: u64,
    /// Nothing of it runs any more; only its exit status is left.
    pub ended: bool,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        let process = Process::new(i32::try_from(pid).ok()?).ok()?;
        Self::read(&process)
    }

    fn read(process: &Process) -> Option<Self> {
        let stat = process.stat().ok()?;
        let threads = u64::try_from(stat.num_threads).unwrap_or(0);
        Some(Self {
            pid: u32::try_from(stat.pid).ok()?,
            parent: u32::try_from(stat.ppid).unwrap_or(0),
            started: stat.starttime,
            user_ticks: stat.utime,
            system_ticks: stat.stime,
            reaped_user_ticks: u64::try_from(stat.cutime).unwrap_or(0),
            reaped_system_ticks: u64::try_from(stat.cstime).unwrap_or(0),
            threads,
            rss_bytes: stat.rss.saturating_mul(procfs::page_size()),
            // A process whose first thread has ended shows as a zombie while the others work on.
            ended: matches!(stat.state, 'Z' | 'X') && threads <= 1,
        })
    }

    /// Every process that can be seen.
    pub(crate) fn all() -> Vec<Self> {
        let Ok(processes) = procfs::process::all_processes() else {
            return Vec::new();
        };
        processes.flatten().filter_map(|process| Self::read(&process)).collect()
    }
}

/// The thread ids of a process.
pub(crate) fn threads_of(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    entries.flatten().filter_map(|e| e.file_name().to_str()?.parse().ok()).collect()
}

/// The value of a `Name:` line of `/proc/PID/status` or `/proc/PID/task/TID/status`.
pub(crate) fn status_line(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// Most memory that was ever resident, in bytes.
pub(crate) fn peak_rss_bytes(pid: u32) -> Option<u64> {
    let line = status_line(&format!("/proc/{pid}/status"), "VmHWM")?;
    line.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The last process id given away in this pid namespace: unchanged means that nothing was forked meanwhile.
pub(crate) fn last_pid() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
}

/// Length of one tick of `/proc/PID/stat`, in nanoseconds.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Ticks since boot, now; comparable with [`Stat::started`].
pub(crate) fn boot_ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) / tick_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_see_ourselves() {
        let own = Stat::of(std::process::id()).unwrap();
        assert!(own.threads >= 1 && own.rss_bytes > 100_000 && !own.ended);
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(own.started <= boot_ticks());
        assert!(Stat::all().iter().any(|s| s.pid == own.pid && s.started == own.started));
        assert!(threads_of(own.pid).contains(&own.pid));
        assert!(peak_rss_bytes(own.pid).unwrap() >= 100_000);
        assert!(last_pid().is_some());
        assert!(Stat::of(u32::MAX).is_none() && threads_of(u32::MAX).is_empty());
    }
}
