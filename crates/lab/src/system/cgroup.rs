//! A control group that limits the memory of a target and its children, where this machine permits one, and groups that are
//! frozen. Unlike RLIMIT_AS a limit does not count reserved address space; the kernel kills a process of a group that exceeds
//! its limit.
//!
//! Invariant: only groups created here are changed. A group is removed on drop; those of a killed run by the next run,
//! which finds the creator in the group's name.

use super::poll::{every, poll};
use super::proc_stat::start_time;
use crate::fs_error::with_path;
use brunt_results::Size;
use rustix::process::{Pid, Signal, kill_process};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::{fs, io, os::unix::fs::MetadataExt, process, time::Duration};

/// Timeout for killed processes to leave the group.
const REMOVE_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct MemoryCgroup {
    path: PathBuf,
    limit: Size,
}

impl MemoryCgroup {
    /// Creates a group limited to this much memory including swap; `None` where [`unsupported_reason`] has a reason.
    pub fn new(limit: Size) -> io::Result<Option<Self>> {
        let Ok((parent, version)) = place() else { return Ok(None) };
        let cgroup = Self { path: make(&parent)?, limit };
        version.set_limit(&cgroup.path, limit)?;
        Ok(Some(cgroup))
    }

    /// Shell command that moves the shell into the group.
    pub fn enter_command(&self) -> String {
        format!("echo $$ >'{}' && ", self.path.join("cgroup.procs").display())
    }

    /// Describes the kill by the kernel, if a process exceeded the limit.
    pub fn oom_kill(&self) -> Option<String> {
        let counts = ["memory.events", "memory.oom_control"];
        let text = counts.iter().find_map(|file| fs::read_to_string(self.path.join(file)).ok())?;
        let killed: u64 = text.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())?;
        let limit = self.limit;
        (killed > 0).then(|| format!("the kernel killed it for taking more memory than its limit, {limit}"))
    }
}

impl Drop for MemoryCgroup {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

/// Why no such group can be created on this machine, if so.
pub fn unsupported_reason() -> Option<String> {
    place().err()
}

/// Removes the groups that killed runs left, and kills their processes.
pub fn remove_orphans() {
    for (root, own, _) in hierarchies(MEMORY).into_iter().chain(hierarchies(FREEZER)) {
        for parent in upwards(&root, &own) {
            let groups = fs::read_dir(parent).into_iter().flatten().flatten().map(|entry| entry.path());
            groups.filter(|group| is_orphan(group)).for_each(|group| remove(&group));
        }
    }
}

fn remove(path: &Path) {
    // A frozen process does not end, not even by SIGKILL in version 1.
    for version in [Version::One, Version::Two] {
        thaw(path, version);
    }
    poll(REMOVE_TIMEOUT, every(5), || {
        if fs::remove_dir(path).is_ok() || !path.exists() {
            return Some(());
        }
        let members = fs::read_to_string(path.join("cgroup.procs")).unwrap_or_default();
        for pid in members.lines().filter_map(|pid| Pid::from_raw(pid.parse().ok()?)) {
            let _ = kill_process(pid, Signal::KILL);
        }
        None
    });
}

/// Lets the processes of a group run again.
pub(super) fn thaw(group: &Path, version: Version) {
    let (file, word) = match version {
        Version::One => ("freezer.state", "THAWED"),
        Version::Two => ("cgroup.freeze", "0"),
    };
    if group.join(file).exists() {
        let _ = fs::write(group.join(file), word);
    }
}

/// A new group that can be frozen, below our own; with our own, where processes started here are. `None` if there can be none.
pub(super) fn freezer_group(version: Version) -> Option<(PathBuf, PathBuf)> {
    let (_, own, _) = hierarchies(FREEZER).into_iter().find(|(.., found)| *found == version)?;
    let group = make(&own).ok()?;
    let file = match version {
        Version::One => "freezer.state",
        Version::Two => "cgroup.freeze",
    };
    if group.join(file).exists() {
        return Some((own, group));
    }
    let _ = fs::remove_dir(group);
    None
}

/// Whether these processes are in our own group of version 2.
pub(super) fn is_in_own_v2_group(pids: Vec<u32>) -> bool {
    let group = |pid: &str| {
        let text = fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
        text.lines().find_map(|line| line.strip_prefix("0::").map(str::to_owned))
    };
    let own = group("self");
    own.is_some() && pids.iter().all(|pid| group(&pid.to_string()) == own)
}

/// Controllers of version 1.
const MEMORY: &str = "memory";
const FREEZER: &str = "freezer";

/// Version of the kernel's interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    One,
    Two,
}

impl Version {
    fn file(self) -> &'static str {
        match self {
            Self::One => "memory.limit_in_bytes",
            Self::Two => "memory.max",
        }
    }

    fn set_limit(self, group: &Path, limit: Size) -> io::Result<()> {
        let file = group.join(self.file());
        fs::write(&file, limit.0.to_string()).map_err(with_path(&file))?;
        // Swap counts too; kernels without swap accounting have no such file.
        let _ = match self {
            Self::One => fs::write(group.join("memory.memsw.limit_in_bytes"), limit.0.to_string()),
            // Kills the whole group: a server that lost a process must not be measured further.
            Self::Two => {
                fs::write(group.join("memory.swap.max"), "0").and(fs::write(group.join("memory.oom.group"), "1"))
            }
        };
        Ok(())
    }
}

/// The parent for new groups, as close to our own group as possible; tried by creating one.
fn place() -> Result<(PathBuf, Version), String> {
    let mut why = "no control groups with memory are mounted".to_owned();
    for (root, own, version) in hierarchies(MEMORY) {
        for parent in upwards(&root, &own) {
            match make(parent) {
                Ok(probe) => {
                    let limits = probe.join(version.file()).exists();
                    remove(&probe);
                    if limits {
                        return Ok((parent.to_owned(), version));
                    }
                    why = format!("{} has no memory controller for its children", parent.display());
                }
                Err(error) => why = error.to_string(),
            }
        }
    }
    Err(why)
}

/// Our own group and its ancestors up to the root of the hierarchy.
fn upwards<'a>(root: &'a Path, own: &'a Path) -> impl Iterator<Item = &'a Path> {
    own.ancestors().take_while(move |group| group.starts_with(root))
}

fn hierarchies(controller: &str) -> Vec<(PathBuf, PathBuf, Version)> {
    let read = |file: &str| fs::read_to_string(file).unwrap_or_default();
    own_groups(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup"), controller)
}

/// Each mounted hierarchy that may have the controller: its root, our group in it, its version.
fn own_groups(mounts: &str, groups: &str, controller: &str) -> Vec<(PathBuf, PathBuf, Version)> {
    let hierarchy = |line: &str| {
        // 36 35 0:30 /root/of/mount /mount/point options - type source options: proc_pid_mountinfo(5)
        let (front, back) = line.split_once(" - ")?;
        let (mut front, mut back) = (front.split(' ').skip(3), back.split(' '));
        let (top, point) = (front.next()?, PathBuf::from(front.next()?));
        let (kind, options) = (back.next()?, back.nth(1)?);
        let version = match kind {
            "cgroup" if options.split(',').any(|option| option == controller) => Version::One,
            "cgroup2" => Version::Two,
            _ => return None,
        };
        let own = groups.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let named = controllers.split(',').any(|name| name == controller);
            (if version == Version::One { named } else { controllers.is_empty() }).then_some(path)
        })?;
        // In a container the own path may lie outside the mount.
        let inside = Path::new(own).strip_prefix(top).ok().map(|own| point.join(own));
        let own = inside.filter(|own| own.is_dir()).unwrap_or_else(|| point.clone());
        Some((point, own, version))
    };
    mounts.lines().filter_map(hierarchy).collect()
}

/// Creates a group named after its creator: pid namespace, process id, start time of the process.
fn make(parent: &Path) -> io::Result<PathBuf> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let (pid, number) = (process::id(), NUMBER.fetch_add(1, Ordering::Relaxed));
    let group = parent.join(format!("brunt-{}-{pid}-{}-{number}", namespace(), start_time(pid).unwrap_or(0)));
    fs::create_dir(&group).map_err(with_path(&group))?;
    Ok(group)
}

/// Whether the creator, of this namespace, is gone.
fn is_orphan(group: &Path) -> bool {
    let creator = || {
        let mut words = group.file_name()?.to_str()?.strip_prefix("brunt-")?.split('-');
        let mut next = || words.next()?.parse::<u64>().ok();
        (next()? == namespace()).then_some(())?;
        Some((u32::try_from(next()?).ok()?, next()?))
    };
    creator().is_some_and(|(pid, started)| start_time(pid) != Some(started))
}

/// Our pid namespace; process ids of another one mean nothing here.
fn namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map_or(0, |namespace| namespace.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_hierarchies_are_found_with_our_group() {
        let home = tempfile::tempdir().unwrap();
        let point = home.path().display();
        fs::create_dir_all(home.path().join("one/job")).unwrap();
        let mounts = format!(
            "30 20 0:26 / {point}/cpu rw shared:9 - cgroup cgroup rw,cpu\n\
             31 20 0:27 / {point}/one rw shared:10 - cgroup cgroup rw,memory\n\
             32 20 0:28 /docker/x {point} rw - cgroup2 cgroup2 rw\n\
             33 20 0:29 / / rw - ext4 /dev/sda rw\n"
        );
        let found = own_groups(&mounts, "4:memory:/job\n2:cpu:/\n0::/not/under/the/mount\n", MEMORY);
        let path = |name: &str| home.path().join(name);
        assert_eq!(
            found,
            [(path("one"), path("one/job"), Version::One), (home.path().into(), home.path().into(), Version::Two)]
        );
        assert_eq!(own_groups("", "0::/", MEMORY), []);
        assert_eq!(own_groups("nonsense - \n", "nonsense", MEMORY), []);
    }

    #[test]
    fn groups_of_dead_creators_are_orphans() {
        let (own, pid) = (namespace(), process::id());
        let started = start_time(pid).unwrap();
        for (name, orphan) in [
            (format!("brunt-{own}-{pid}-{started}-0"), false),
            (format!("brunt-{own}-{pid}-{}-0", started + 1), true),
            (format!("brunt-{own}-{}-{started}-0", u32::MAX), true),
            (format!("brunt-{}-{}-{started}-0", own + 1, u32::MAX), false),
            (format!("brunt-{own}-{}", u32::MAX), false),
            ("brunt-build".to_owned(), false),
            ("user.slice".to_owned(), false),
        ] {
            assert_eq!(is_orphan(&Path::new("/sys/fs/cgroup").join(&name)), orphan, "{name}");
        }
    }

    #[test]
    fn whoever_takes_more_is_killed_and_said_to_have_been() {
        if let Some(why) = unsupported_reason() {
            println!("skipped: no control group can be made here: {why}");
            return;
        }
        let run = |megabytes: u64| {
            let cgroup = MemoryCgroup::new(Size(32 << 20)).unwrap().unwrap();
            // `dd` holds one block.
            let script = format!("{}exec dd if=/dev/zero of=/dev/null bs={megabytes}M count=1", cgroup.enter_command());
            let status = process::Command::new("sh").args(["-c", &script]).output().unwrap().status;
            (status.success(), cgroup.oom_kill(), cgroup.path.clone())
        };
        let (lived, oom_kill, path) = run(1);
        assert_eq!((lived, oom_kill), (true, None));
        assert!(!path.exists());
        let (lived, oom_kill, path) = run(100);
        assert!(!lived && oom_kill.as_deref().is_some_and(|why| why.contains("32MiB")), "{oom_kill:?}");
        assert!(!path.exists());
    }
}
