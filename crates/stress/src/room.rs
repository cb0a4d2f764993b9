//! Memory that this process may take: what the machine has left, and the limits of its control groups.

use crate::error::{StressError, failed};
use crate::stop::Stop;
use brunt_results::Size;
use std::fs;
use std::path::{Path, PathBuf};

/// Bytes that may be taken, and what limits them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Room {
    pub(crate) bytes: u64,
    pub(crate) by: String,
}

/// The smallest limit. `None` if none can be read.
pub(crate) fn room() -> Option<Room> {
    let read = |path: &str| fs::read_to_string(path).unwrap_or_default();
    smallest(&read("/proc/meminfo"), &read("/proc/self/cgroup"), Path::new("/sys/fs/cgroup"))
}

/// Refuses a working set that does not fit.
pub(crate) fn check(bytes: u64) -> Result<(), StressError> {
    match room() {
        Some(room) if bytes > room.bytes => {
            let left = Size(room.bytes >> 20 << 20);
            failed(format!(
                "--size {}: only {left} of memory may be taken ({}); choose a smaller --size",
                Size(bytes),
                room.by
            ))
        }
        _ => Ok(()),
    }
}

/// Bytes that are filled between two looks at the stop.
const AT_ONCE: usize = 2 << 20;

/// So many elements, touched; fewer if it is stopped meanwhile. `what` names them.
pub(crate) fn filled<T>(
    count: usize,
    what: &str,
    stop: &Stop,
    element: impl Fn(usize) -> T,
) -> Result<Vec<T>, StressError> {
    let mut all = Vec::new();
    if let Err(error) = all.try_reserve_exact(count) {
        return failed(format!("--size: no memory for {count} {what}: {error}; choose a smaller --size"));
    }
    while all.len() < count && !stop.is_stopped() {
        let end = count.min(all.len() + AT_ONCE / size_of::<T>());
        all.extend((all.len()..end).map(&element));
    }
    Ok(all)
}

fn smallest(meminfo: &str, own_groups: &str, mounts: &Path) -> Option<Room> {
    let available = meminfo
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    let available = available.map(|kib| Room { bytes: kib << 10, by: "MemAvailable in /proc/meminfo".to_owned() });
    let limits = own_groups.lines().flat_map(|line| limit_files(line, mounts)).filter_map(|file| {
        let bytes = fs::read_to_string(&file).ok()?.trim().parse().ok()?;
        Some(Room { bytes, by: file.display().to_string() })
    });
    available.into_iter().chain(limits).min_by_key(|room| room.bytes)
}

/// Files that may limit the memory of the group in one line of `/proc/self/cgroup`, which is `0::PATH` for version 2 and
/// `N:CONTROLLERS:PATH` for version 1. Groups above limit it too.
fn limit_files(line: &str, mounts: &Path) -> Vec<PathBuf> {
    let mut fields = line.splitn(3, ':').skip(1);
    let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { return Vec::new() };
    let (root, name) = match controllers {
        "" => (mounts.to_owned(), "memory.max"),
        _ if controllers.split(',').any(|controller| controller == "memory") => {
            (mounts.join("memory"), "memory.limit_in_bytes")
        }
        _ => return Vec::new(),
    };
    Path::new(path.trim_start_matches('/')).ancestors().map(|group| root.join(group).join(name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_limit_of_the_machine_and_of_the_groups_counts() {
        let mounts = tempfile::tempdir().unwrap();
        let meminfo = "MemTotal: 9000000 kB\nMemAvailable:    4194304 kB\n";
        let own = "5:cpu,cpuacct:/x\n3:memory:/jobs/one\n0::/slice/unit\n";
        let room = || smallest(meminfo, own, mounts.path()).unwrap();
        assert_eq!(room(), Room { bytes: 4 << 30, by: "MemAvailable in /proc/meminfo".to_owned() });
        for (file, text, bytes) in [
            ("memory/jobs/one/memory.limit_in_bytes", "9223372036854771712", 4 << 30),
            ("slice/unit/memory.max", "max", 4 << 30),
            ("slice/memory.max", "3221225472", 3 << 30),
            ("memory/jobs/memory.limit_in_bytes", "1073741824", 1 << 30),
        ] {
            let path = mounts.path().join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, format!("{text}\n")).unwrap();
            assert_eq!(room().bytes, bytes, "{file}");
        }
        assert!(room().by.ends_with("memory/jobs/memory.limit_in_bytes"));
        assert_eq!(smallest("", "", mounts.path()), None);
    }
}
