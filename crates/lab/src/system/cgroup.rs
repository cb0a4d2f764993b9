//! A control group that limits the memory of a target and its children, where this machine permits one, and groups that are
//! frozen. Unlike RLIMIT_AS a limit does not count reserved address space; the kernel kills a process of a group that exceeds
//! its limit.
//!
//! Invariant: only groups created here are changed. A group is removed on drop; those of a killed run by the next run,
//! which finds the creator in the group's name.

use crate::fs_error::with_path;
use brunt_meter::cgroup::{Hierarchy, Linux, Version, hierarchies, make, remove};
use brunt_results::Size;
use std::path::{Path, PathBuf};
use std::{fs, io};

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
        set_limit(&cgroup.path, version, limit)?;
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
        remove_group(&self.path);
    }
}

/// Why no such group can be created on this machine, if so.
pub fn unsupported_reason() -> Option<String> {
    place().err()
}

/// A new group that can be frozen, below our own; with our own, where processes started here are. `None` if there can be none.
pub(super) fn freezer_group(version: Version) -> Option<(PathBuf, PathBuf)> {
    let Hierarchy { own, .. } = with_controller(FREEZER).find(|found| found.version == version)?;
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

/// Controllers, by their names in version 1.
const MEMORY: &str = "memory";
const FREEZER: &str = "freezer";

fn with_controller(controller: &str) -> impl Iterator<Item = Hierarchy> {
    hierarchies().into_iter().filter(move |hierarchy| hierarchy.may_have(controller))
}

fn limit_file(version: Version) -> &'static str {
    match version {
        Version::One => "memory.limit_in_bytes",
        Version::Two => "memory.max",
    }
}

fn set_limit(group: &Path, version: Version, limit: Size) -> io::Result<()> {
    let file = group.join(limit_file(version));
    fs::write(&file, limit.0.to_string()).map_err(with_path(&file))?;
    // Swap counts too; kernels without swap accounting have no such file.
    let _ = match version {
        Version::One => fs::write(group.join("memory.memsw.limit_in_bytes"), limit.0.to_string()),
        // Kills the whole group: a server that lost a process must not be measured further.
        Version::Two => {
            fs::write(group.join("memory.swap.max"), "0").and(fs::write(group.join("memory.oom.group"), "1"))
        }
    };
    Ok(())
}

/// What is left after the timeout is removed by the next run.
fn remove_group(path: &Path) {
    let _ = remove(&Linux, &[path.to_owned()]);
}

/// The parent for new groups, as close to our own group as possible; tried by creating one.
fn place() -> Result<(PathBuf, Version), String> {
    let mut why = "no control groups with memory are mounted".to_owned();
    for hierarchy in with_controller(MEMORY) {
        for parent in hierarchy.upwards() {
            match make(parent) {
                Ok(probe) => {
                    let limits = probe.join(limit_file(hierarchy.version)).exists();
                    remove_group(&probe);
                    if limits {
                        return Ok((parent.to_owned(), hierarchy.version));
                    }
                    why = format!("{} has no memory controller for its children", parent.display());
                }
                Err(error) => why = error.to_string(),
            }
        }
    }
    Err(why)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_takes_more_is_killed_and_said_to_have_been() {
        if let Some(why) = unsupported_reason() {
            println!("skipped: no control group can be made here: {why}");
            return;
        }
        let run = |megabytes: u64| {
            let cgroup = MemoryCgroup::new(Size(32 << 20)).unwrap().unwrap();
            // `dd` holds one block; a signal or a pause of the machine would end a single read early.
            let script = format!(
                "{}exec dd if=/dev/zero of=/dev/null bs={megabytes}M count=1 iflag=fullblock",
                cgroup.enter_command()
            );
            let status = std::process::Command::new("sh").args(["-c", &script]).output().unwrap().status;
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
