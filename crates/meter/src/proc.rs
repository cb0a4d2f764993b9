//! Frequently read files of `/proc`. `None` means that the process is gone or not accessible.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

/// The used part of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Stat {
    pub pid: u32,
    pub parent: u32,
    /// Ticks since boot; with the pid, identifies a process for its lifetime.
    pub started: u64,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// `reaped` is of children that ended and were waited for, and their own such children.
    pub reaped_user_ticks: u64,
    pub reaped_system_ticks: u64,
    pub minor_faults: u64,
    pub major_faults: u64,
    pub reaped_minor_faults: u64,
    pub reaped_major_faults: u64,
    pub threads: u64,
    pub rss_bytes: u64,
    /// A zombie without threads.
    pub ended: bool,
}

impl Stat {
    pub(crate) fn of(pid: u32) -> Option<Self> {
        // Read for every process once a second: parses only what is used.
        let mut bytes = Vec::with_capacity(1024);
        File::open(format!("/proc/{pid}/stat")).ok()?.read_to_end(&mut bytes).ok()?;
        Self::parse(pid, &String::from_utf8_lossy(&bytes))
    }

    fn parse(pid: u32, text: &str) -> Option<Self> {
        // The name, field 2, may contain anything: fields are counted from the last bracket (proc_pid_stat(5)).
        let (_, text) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = text.split_ascii_whitespace().take(25 - 3).collect();
        // By number in proc_pid_stat(5); the list begins with the third. Some are printed as signed, none is negative.
        let number = |field: usize| fields.get(field - 3)?.parse().ok().map(|value: i64| value.max(0) as u64);
        let threads = number(20)?;
        Some(Self {
            pid,
            parent: number(4)? as u32,
            started: number(22)?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            reaped_user_ticks: number(16)?,
            reaped_system_ticks: number(17)?,
            minor_faults: number(10)?,
            major_faults: number(12)?,
            reaped_minor_faults: number(11)?,
            reaped_major_faults: number(13)?,
            threads,
            rss_bytes: number(24)?.saturating_mul(procfs::page_size()),
            // With other threads running, a process whose first thread has ended is shown as a zombie too.
            ended: matches!(fields.first(), Some(&("Z" | "X"))) && threads <= 1,
        })
    }

    pub(crate) fn all() -> Vec<Self> {
        let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
        processes.filter_map(|process| Self::of(process.file_name().to_str()?.parse().ok()?)).collect()
    }
}

/// The text of a file of the kernel. Such files tell no size, so that `fs::read_to_string` would take it in many small pieces.
pub(crate) fn text(path: impl AsRef<Path>) -> io::Result<String> {
    let mut text = String::with_capacity(4096);
    File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// Parent of all threads of the kernel.
pub(crate) const KTHREADD: u32 = 2;

/// The name of a process, as the kernel has it.
pub(crate) fn name_of(pid: u32) -> Option<String> {
    Some(fs::read_to_string(format!("/proc/{pid}/comm")).ok()?.trim().to_owned())
}

pub(crate) fn threads_of(pid: u32) -> Vec<u32> {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    threads.filter_map(|thread| thread.file_name().to_str()?.parse().ok()).collect()
}

/// The value of a `Name:` line of `/proc/PID/status` or `/proc/PID/task/TID/status`.
pub(crate) fn status_line(path: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    Some(line.trim().to_owned())
}

/// The value, in bytes, of a line of `/proc/PID/status` in kB.
pub(crate) fn memory_line(pid: u32, name: &str) -> Option<u64> {
    let line = status_line(&format!("/proc/{pid}/status"), name)?;
    line.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

/// The last process id assigned in this pid namespace: if unchanged, nothing was forked meanwhile.
pub(crate) fn last_pid() -> Option<u32> {
    fs::read_to_string("/proc/loadavg").ok()?.split_whitespace().last()?.parse().ok()
}

/// Length of one tick of `/proc/PID/stat`, in nanoseconds.
pub(crate) fn tick_ns() -> u64 {
    1_000_000_000 / rustix::param::clock_ticks_per_second().max(1)
}

/// Current ticks since boot, comparable with [`Stat::started`].
pub(crate) fn boot_ticks() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    (now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64) / tick_ns()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_process_is_read_and_names_may_contain_anything() {
        let own = Stat::of(std::process::id()).unwrap();
        assert!(own.minor_faults > 0 && own.threads >= 1 && own.rss_bytes > 100_000 && !own.ended);
        assert_eq!(own.parent, std::os::unix::process::parent_id());
        assert!(own.started <= boot_ticks());
        assert!(Stat::all().iter().any(|s| s.pid == own.pid && s.started == own.started));
        assert!(threads_of(own.pid).contains(&own.pid));
        assert!(memory_line(own.pid, "VmHWM").unwrap() >= 100_000);
        let mapped = vec![1_u8; 4 << 20];
        let anon = memory_line(own.pid, "RssAnon").unwrap();
        assert!(anon >= 4 << 20 && std::hint::black_box(&mapped).len() == 4 << 20, "{anon}");
        assert!(last_pid().is_some());
        assert!(Stat::of(u32::MAX).is_none() && threads_of(u32::MAX).is_empty());
        let rest = "S 7 1 1 0 -1 4194560 11 12 13 14 15 16 17 18 20 0 3 0 999 100000 5 18446744073709551615 1 2";
        let stat = Stat::parse(9, &format!("9 (a) b) {rest} 3 4")).unwrap();
        assert_eq!((stat.pid, stat.parent, stat.threads, stat.started), (9, 7, 3, 999));
        assert_eq!((stat.minor_faults, stat.reaped_minor_faults), (11, 12));
        assert_eq!((stat.major_faults, stat.reaped_major_faults), (13, 14));
        assert_eq!((stat.user_ticks, stat.system_ticks), (15, 16));
        assert_eq!((stat.reaped_user_ticks, stat.reaped_system_ticks), (17, 18));
        assert_eq!(stat.rss_bytes, 5 * procfs::page_size());
        for broken in ["", "9 (a", "9 (a) S 7", "9 (a) S x 1 1 0"] {
            assert!(Stat::parse(9, broken).is_none(), "{broken:?}");
        }
    }
}
