//! A group of BE jobs made by the test itself.

use brunt_colocate::actuators::{Actuators, Settings};
use brunt_colocate::journal::Journal;
use brunt_meter::cgroup::{Linux, hierarchies};
use brunt_testkit::Home;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, thread};

pub const BRUNT: &str = env!("CARGO_BIN_EXE_brunt");

pub struct Scene {
    pub actuators: Actuators,
    journal: Option<Journal>,
    home: Home,
}

/// Little CPU time, so that the test that waits for them is not disturbed; not in the idle class, so that a busy machine does not
/// hold up the job.
pub fn settings() -> Settings {
    let last = thread::available_parallelism().unwrap().get() - 1;
    let mut settings = Settings::new(vec![last], 0.3);
    settings.idle = false;
    settings.memory = Some(64 << 20);
    settings.processes = Some(64);
    settings
}

impl Scene {
    /// `None` where no group can be made.
    pub fn new() -> Option<Self> {
        let home = brunt_testkit::home();
        let mut journal = Journal::create(&home.path().join("a.journal")).unwrap();
        match Actuators::open(Arc::new(Linux), &settings(), &mut journal) {
            Ok(actuators) => Some(Self { actuators, journal: Some(journal), home }),
            Err(why) => {
                println!("skipped: {why}");
                None
            }
        }
    }

    pub fn home(&self) -> &Path {
        self.home.path()
    }

    /// Starts a shell script in these directories.
    pub fn start(&self, dirs: &[PathBuf], script: &str, args: &[&OsStr]) -> Child {
        let mut command = exec(dirs);
        command.args(["--", "sh", "-c", script, "sh"]).args(args).current_dir(self.home());
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    /// Undoes everything and checks that nothing is left.
    pub fn end(mut self) {
        let dirs = self.actuators.dirs();
        assert_eq!(self.journal.take().unwrap().undo(&Linux), Vec::<String>::new());
        assert_eq!(dirs.iter().filter(|dir| dir.exists()).collect::<Vec<_>>(), Vec::<&PathBuf>::new());
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        // A failed test, too, must leave nothing.
        if let Some(journal) = self.journal.take() {
            journal.undo(&Linux);
        }
    }
}

/// `brunt colocate exec` in these directories, without its program.
pub fn exec(dirs: &[PathBuf]) -> Command {
    let mut command = Command::new(BRUNT);
    command.args(["colocate", "exec"]);
    dirs.iter().for_each(|dir| _ = command.arg("--group").arg(dir));
    command
}

/// Waits until it is so; how long that took.
#[track_caller]
pub fn until(what: &str, holds: impl FnMut() -> bool) -> Duration {
    let since = Instant::now();
    brunt_testkit::until(what, holds);
    since.elapsed()
}

/// Whether a process has ended; a zombie has.
pub fn has_ended(pid: u32) -> bool {
    brunt_meter::proc_stat::has_ended(pid)
}

/// Settings of the groups that this process is in. Whether they are frozen is none: while it reads, others may stop and thaw them.
pub fn knobs() -> BTreeMap<PathBuf, String> {
    let names = [
        "cpu.idle",
        "cpu.shares",
        "cpu.weight",
        "cpu.max",
        "cpu.cfs_quota_us",
        "cpu.cfs_period_us",
        "cpuset.cpus",
        "cpuset.mems",
        "memory.limit_in_bytes",
        "memory.max",
        "pids.max",
        "cgroup.subtree_control",
        "cgroup.clone_children",
        "notify_on_release",
    ];
    let dirs: Vec<PathBuf> =
        hierarchies().iter().flat_map(|one| one.upwards().map(PathBuf::from).collect::<Vec<_>>()).collect();
    let files = dirs.iter().flat_map(|dir| names.map(|name| dir.join(name)));
    files.filter_map(|file| Some((file.clone(), fs::read_to_string(file).ok()?))).collect()
}
