//! Control groups of a command: one that freezes it and one that limits its CPU time, of version 1 or 2.
//!
//! A guard, a shell in a process group of its own, waits for the end of its input, which ends with this process: it then
//! thaws the groups, kills what is in them and removes them.

use std::io::{Error, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use std::{fs, thread};

/// The period of a limit of CPU time.
const PERIOD_US: u64 = 10_000;

const GUARD: &str = r#"trap '' INT TERM HUP
cat >/dev/null
for group; do
  [ -e "$group/freezer.state" ] && echo THAWED >"$group/freezer.state"
  [ -e "$group/cgroup.freeze" ] && echo 0 >"$group/cgroup.freeze"
done
for group; do
  tries=0
  while [ -d "$group" ] && [ $tries -lt 500 ]; do
    find "$group" -name cgroup.procs -exec cat {} + | while read -r pid; do kill -KILL "$pid"; done
    find "$group" -depth -type d -exec rmdir {} +
    tries=$((tries + 1))
    [ -d "$group" ] && sleep 0.01
  done
done 2>/dev/null"#;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Version {
    One,
    Two,
}

/// One group.
#[derive(Debug, Clone)]
pub struct Group {
    path: PathBuf,
    version: Version,
}

impl Group {
    /// Freezes all processes of the group for this long.
    pub fn freeze(&self, time: Duration) -> Result<(), Error> {
        let (file, frozen, thawed) = match self.version {
            Version::One => ("freezer.state", "FROZEN", "THAWED"),
            Version::Two => ("cgroup.freeze", "1", "0"),
        };
        let start = Instant::now();
        fs::write(self.path.join(file), frozen)?;
        thread::sleep(time.saturating_sub(start.elapsed()));
        fs::write(self.path.join(file), thawed)
    }

    /// Limits the group to this share of the CPU time of all cores.
    pub fn limit_to(&self, share: f64) -> Result<(), Error> {
        let cores = thread::available_parallelism().map_or(1, usize::from);
        let quota = (PERIOD_US as f64 * cores as f64 * share) as u64;
        match self.version {
            Version::One => {
                fs::write(self.path.join("cpu.cfs_period_us"), PERIOD_US.to_string())?;
                fs::write(self.path.join("cpu.cfs_quota_us"), quota.to_string())
            }
            Version::Two => fs::write(self.path.join("cpu.max"), format!("{quota} {PERIOD_US}")),
        }
    }

    /// Makes the group below that of this process, in the hierarchy that has the file.
    fn create(controller: &str, one: &str, two: &str) -> Result<Self, String> {
        let mounts = fs::read_to_string("/proc/self/mounts").map_err(|e| format!("/proc/self/mounts: {e}"))?;
        let own = fs::read_to_string("/proc/self/cgroup").map_err(|e| format!("/proc/self/cgroup: {e}"))?;
        let mut reasons = String::new();
        for (version, file, parent) in
            [(Version::One, one, place(&mounts, &own, controller)), (Version::Two, two, place(&mounts, &own, ""))]
        {
            let Some(parent) = parent else { continue };
            let path = parent.join(format!("noise-{controller}-{}", std::process::id()));
            match fs::create_dir(&path) {
                Ok(()) if path.join(file).exists() => return Ok(Self { path, version }),
                Ok(()) => {
                    let _ = fs::remove_dir(&path);
                    reasons += &format!("; {} has no {file}", parent.display());
                }
                Err(e) => reasons += &format!("; {}: {e}", path.display()),
            }
        }
        Err(format!("no control group can be made here with the controller {controller}{reasons}"))
    }
}

/// The directory of this process's group in the hierarchy of a controller of version 1, or in version 2 if it is empty.
fn place(mounts: &str, own: &str, controller: &str) -> Option<PathBuf> {
    let mut mounted = mounts.lines().filter_map(|line| {
        let [_, path, kind, options, ..] = line.split(' ').collect::<Vec<_>>()[..] else { return None };
        let fits = if controller.is_empty() { kind == "cgroup2" } else { kind == "cgroup" && has(options, controller) };
        fits.then_some(path)
    });
    let group = own.lines().find_map(|line| {
        let [_, controllers, group] = line.splitn(3, ':').collect::<Vec<_>>()[..] else { return None };
        (if controller.is_empty() { controllers.is_empty() } else { has(controllers, controller) }).then_some(group)
    })?;
    Some(Path::new(mounted.next()?).join(group.trim_start_matches('/')))
}

fn has(list: &str, word: &str) -> bool {
    list.split(',').any(|one| one == word)
}

/// The groups of a command; removed on drop, with what runs in them.
pub struct Groups {
    freezer: Option<Group>,
    quota: Option<Group>,
    guard: Option<Child>,
}

impl Groups {
    pub fn create(freezer: bool, quota: bool) -> Result<Self, String> {
        let mut groups = Self { freezer: None, quota: None, guard: None };
        if freezer {
            groups.freezer = Some(Group::create("freezer", "freezer.state", "cgroup.freeze")?);
        }
        if quota {
            let group = Group::create("cpu", "cpu.cfs_quota_us", "cpu.max");
            groups.quota =
                Some(group.inspect_err(|_| groups.all().for_each(|group| drop(fs::remove_dir(&group.path))))?);
        }
        if groups.all().next().is_some() {
            let mut guard = Command::new("sh");
            guard.args(["-c", GUARD, "guard"]).args(groups.all().map(|group| &group.path));
            guard.process_group(0).stdin(Stdio::piped());
            groups.guard = Some(guard.spawn().map_err(|e| format!("cannot start sh: {e}"))?);
        }
        Ok(groups)
    }

    fn all(&self) -> impl Iterator<Item = &Group> {
        self.freezer.iter().chain(&self.quota)
    }

    pub fn freezer(&self) -> Option<&Group> {
        self.freezer.as_ref()
    }

    pub fn quota(&self) -> Option<Group> {
        self.quota.clone()
    }

    /// A shell command that moves the shell into the groups.
    pub fn enter_command(&self) -> String {
        self.all().map(|group| format!("echo $$ >'{}' && ", group.path.join("cgroup.procs").display())).collect()
    }
}

impl Drop for Groups {
    fn drop(&mut self) {
        if let Some(guard) = &mut self.guard {
            // The end of its input.
            drop(guard.stdin.take().map(|mut input| input.flush()));
            let _ = guard.wait();
        }
    }
}
