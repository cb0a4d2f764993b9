//! Control groups in a directory, for tests: the control files that a kernel would show, with errors on demand.

use brunt_meter::cgroup::{Files, Hierarchy, parse};
use brunt_meter::marked::Found;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex};
use std::{fs, io};

/// What is mounted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    One,
    Two,
    /// Controllers in version 1, and a version 2 without any.
    Hybrid,
}

pub const LAYOUTS: [Layout; 3] = [Layout::One, Layout::Two, Layout::Hybrid];

const ONE: [(&str, &[(&str, &str)]); 7] = [
    (
        "cpu,cpuacct",
        &[
            ("cpu.idle", "0"),
            ("cpu.shares", "1024"),
            ("cpu.cfs_quota_us", "-1"),
            ("cpu.cfs_period_us", "100000"),
            ("cpu.stat", "nr_periods 4\nnr_throttled 2\nthrottled_time 3000"),
            ("cpuacct.usage", "5000000"),
        ],
    ),
    ("cpuset", &[("cpuset.cpus", ""), ("cpuset.mems", "")]),
    (
        "memory",
        &[
            ("memory.limit_in_bytes", "9223372036854771712"),
            ("memory.memsw.limit_in_bytes", "9223372036854771712"),
            ("memory.usage_in_bytes", "4096"),
            ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1"),
        ],
    ),
    ("pids", &[("pids.max", "max"), ("pids.current", "3")]),
    ("blkio", &[("blkio.throttle.read_bps_device", ""), ("blkio.throttle.write_bps_device", "")]),
    ("freezer", &[("freezer.state", "THAWED")]),
    ("devices", &[("devices.list", "a *:* rwm")]),
];
const CORE: [(&str, &str); 8] = [
    ("cgroup.subtree_control", ""),
    ("cgroup.freeze", "0"),
    ("cgroup.kill", ""),
    ("cgroup.events", "populated 0\nfrozen 0"),
    ("cpu.stat", "usage_usec 5000"),
    ("cpu.pressure", "some avg10=0.00 avg60=0.00 avg300=0.00 total=11\nfull avg10=0.00 total=7"),
    ("memory.pressure", "some avg10=0.00 total=12"),
    ("io.pressure", "some avg10=0.00 total=13"),
];
const TWO: [(&str, &str); 9] = [
    ("cpu.idle", "0"),
    ("cpu.weight", "100"),
    ("cpu.max", "max 100000"),
    ("cpuset.cpus", ""),
    ("memory.max", "max"),
    ("memory.swap.max", "max"),
    ("memory.current", "4096"),
    ("pids.max", "max"),
    ("io.max", ""),
];

/// Directory of resctrl; there is none before [`Fake::with_resctrl`].
pub const RESCTRL: &str = "resctrl";

#[derive(Debug)]
pub struct Fake {
    home: tempfile::TempDir,
    layout: Layout,
    /// Errors of writing files, or creating directories below paths, that contain these words.
    errors: Mutex<BTreeMap<String, Errno>>,
    pub writes: Mutex<Vec<(PathBuf, String)>>,
    /// Processes of a group that is to freeze do not stop.
    pub is_stuck: AtomicBool,
}

impl Fake {
    pub fn new(layout: Layout) -> Arc<Self> {
        let home = tempfile::tempdir().unwrap();
        let fake =
            Self { home, layout, errors: Mutex::default(), writes: Mutex::default(), is_stuck: AtomicBool::new(false) };
        for root in fake.roots() {
            fs::create_dir_all(&root).unwrap();
            fake.populate(&root);
        }
        if layout == Layout::Two {
            fs::write(fake.path("unified/cgroup.subtree_control"), "cpuset cpu io memory pids\n").unwrap();
        }
        for (file, all) in [("cpuset/cpuset.cpus", "0-3"), ("cpuset/cpuset.mems", "0")] {
            if fake.path(file).exists() {
                fs::write(fake.path(file), format!("{all}\n")).unwrap();
            }
        }
        Arc::new(fake)
    }

    pub fn with_resctrl(&self) {
        let root = self.path(RESCTRL);
        fs::create_dir_all(root.join("info/L3")).unwrap();
        self.populate(&root);
        fs::write(root.join("info/L3/cbm_mask"), "ffff\n").unwrap();
        fs::write(root.join("info/L3/min_cbm_bits"), "2\n").unwrap();
    }

    pub fn path(&self, below: &str) -> PathBuf {
        self.home.path().join(below)
    }

    fn roots(&self) -> Vec<PathBuf> {
        let one = ONE.iter().map(|(name, _)| *name).filter(|_| self.layout != Layout::Two);
        let two = Some("unified").filter(|_| self.layout != Layout::One);
        one.chain(two).map(|name| self.path(name)).collect()
    }

    pub fn hierarchies(&self) -> Vec<Hierarchy> {
        let line = |root: PathBuf| {
            let name = root.file_name().unwrap().to_str().unwrap().to_owned();
            let root = root.display();
            match name.as_str() {
                "unified" => (format!("31 23 0:28 / {root} rw - cgroup2 cgroup2 rw\n"), "0::/\n".to_owned()),
                _ => (format!("31 23 0:28 / {root} rw - cgroup cgroup rw,{name}\n"), format!("3:{name}:/\n")),
            }
        };
        let (mounts, groups): (Vec<_>, Vec<_>) = self.roots().into_iter().map(line).unzip();
        parse(&mounts.concat(), &groups.concat())
    }

    fn populate(&self, dir: &Path) {
        let root = dir.strip_prefix(self.home.path()).unwrap().iter().next().unwrap().to_str().unwrap();
        let below = dir.strip_prefix(self.path(root)).unwrap().iter().count();
        let one = ONE.iter().filter(|(name, _)| *name == root).flat_map(|(_, files)| files.iter());
        let core = CORE.iter().filter(|_| root == "unified");
        // A controller is there where the parent enables it.
        let enabled = dir.parent().and_then(|parent| fs::read_to_string(parent.join("cgroup.subtree_control")).ok());
        let enabled =
            enabled.filter(|_| root == "unified" && self.layout == Layout::Two && below > 0).unwrap_or_default();
        let is_enabled = |file: &str| enabled.split_whitespace().any(|name| file.split('.').next() == Some(name));
        let two = TWO.iter().filter(|(file, _)| is_enabled(file));
        for (file, value) in one.chain(core).chain(two) {
            fs::write(dir.join(file), format!("{value}\n")).unwrap();
        }
        if root == RESCTRL {
            fs::write(dir.join("schemata"), "    MB:0=100;1=100\n    L3:0=ffff;1=ffff\n").unwrap();
        }
        fs::write(dir.join(if root == RESCTRL { "tasks" } else { "cgroup.procs" }), "").unwrap();
    }

    /// The share of a directory of version 1; `None` without a limit.
    fn share(&self, dir: &Path) -> Option<f64> {
        let number = |name| fs::read_to_string(dir.join(name)).ok()?.trim().parse::<f64>().ok();
        let (quota, period) = (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?);
        (quota > 0.0).then_some(quota / period)
    }

    /// The kernel takes no limit above that of the parent, and none below that of a child.
    fn limit(&self, file: &Path, text: &str) -> io::Result<()> {
        let dir = file.parent().unwrap();
        let before = self.read(file)?;
        fs::write(file, format!("{text}\n"))?;
        let (own, parent) = (self.share(dir), self.share(dir.parent().unwrap()));
        let is_above =
            |share: Option<f64>, limit: Option<f64>| share.zip(limit).is_some_and(|(share, limit)| share > limit);
        if is_above(own, parent) || self.children(dir).iter().any(|child| is_above(self.share(child), own)) {
            fs::write(file, before)?;
            return Err(Errno::INVAL.into());
        }
        Ok(())
    }

    /// From now on, writing what contains this word fails.
    pub fn fail(&self, word: &str, errno: Errno) {
        self.errors.lock().unwrap().insert(word.to_owned(), errno);
    }

    pub fn mend(&self) {
        self.errors.lock().unwrap().clear();
    }

    fn error(&self, path: &Path) -> io::Result<()> {
        let below = path.strip_prefix(self.home.path()).unwrap_or(path).to_str().unwrap();
        match self.errors.lock().unwrap().iter().find(|(word, _)| below.contains(word.as_str())) {
            Some((_, errno)) => Err(io::Error::other(format!("{below}: {}", io::Error::from(*errno)))),
            None => Ok(()),
        }
    }

    /// All directories and files with their contents.
    pub fn snapshot(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let mut all = BTreeMap::new();
        let mut folders = vec![self.home.path().to_owned()];
        while let Some(folder) = folders.pop() {
            for path in fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()) {
                if path.is_dir() {
                    folders.push(path.clone());
                    all.insert(path, Vec::new());
                } else {
                    all.insert(path.clone(), fs::read(&path).unwrap());
                }
            }
        }
        all
    }
}

impl Files for Fake {
    fn read(&self, file: &Path) -> io::Result<String> {
        fs::read_to_string(file).map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", file.display())))
    }

    fn write(&self, file: &Path, text: &str) -> io::Result<()> {
        self.error(file)?;
        self.read(file)?;
        self.writes.lock().unwrap().push((file.to_owned(), text.to_owned()));
        let (mut text, is_stuck) = (text, self.is_stuck.load(Relaxed));
        let (dir, name) = (file.parent().unwrap(), file.file_name().unwrap().to_str().unwrap());
        match name {
            "freezer.state" if is_stuck && text == "FROZEN" => text = "FREEZING",
            "cgroup.freeze" if is_stuck => {}
            "cgroup.freeze" => fs::write(dir.join("cgroup.events"), format!("populated 0\nfrozen {text}\n"))?,
            "cgroup.kill" => return fs::write(dir.join("cgroup.procs"), ""),
            "cgroup.procs" | "tasks" => return fs::write(file, format!("{}{text}\n", self.read(file)?)),
            "cgroup.subtree_control" => {
                let all = format!("{} {}\n", self.read(file)?.trim(), text.trim_start_matches('+'));
                return fs::write(file, all);
            }
            "cpu.cfs_quota_us" | "cpu.cfs_period_us" => return self.limit(file, text),
            // The kernel's reaction to a write while the class is idle.
            "cpu.shares" | "cpu.weight" if self.read(&dir.join("cpu.idle"))?.trim() == "1" => {
                return Err(Errno::INVAL.into());
            }
            _ => (),
        }
        fs::write(file, format!("{}\n", text.trim_end()))
    }

    fn create_dir(&self, dir: &Path) -> io::Result<()> {
        self.error(dir)?;
        fs::create_dir(dir)?;
        self.populate(dir);
        Ok(())
    }

    fn remove_dir(&self, dir: &Path) -> io::Result<()> {
        self.error(dir)?;
        if !self.children(dir).is_empty() || !self.read(&dir.join("cgroup.procs")).unwrap_or_default().is_empty() {
            return Err(Errno::BUSY.into());
        }
        fs::remove_dir_all(dir)
    }

    /// None: it has no processes but the numbers in its files.
    fn marked(&self, _: &str, _: &OsStr) -> Found {
        Found::default()
    }

    fn kill(&self, pid: u32) {
        for file in self.snapshot().into_keys().filter(|path| path.ends_with("cgroup.procs")) {
            let left = fs::read_to_string(&file).unwrap();
            let left: Vec<&str> = left.lines().filter(|line| *line != pid.to_string()).collect();
            fs::write(file, left.iter().map(|line| format!("{line}\n")).collect::<String>()).unwrap();
        }
    }
}
