//! A program in its own process group, pinned to its cores.
//!
//! Invariants: dropping the value ends the whole group, after success, errors, Ctrl-C and panics alike; every wait has a
//! time limit.

use super::process_registry::ProcessRegistry;
use crate::clock::poll;
use brunt_meter::affinity;
use brunt_meter::poll::backoff;
use brunt_meter::proc_stat::{is_running, members};
use brunt_results::Cores;
use rustix::process::{Pid, Signal, kill_process_group};
use std::net::SocketAddr;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::{collections::BTreeMap, fs::File, io, sync::Arc, thread, time::Duration};

/// Time between SIGTERM and SIGKILL.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(2);

#[derive(Debug)]
pub struct Launch {
    /// A path, or a name to look up in `PATH`.
    pub program: PathBuf,
    pub args: Vec<String>,
    /// Working directory; `None` inherits ours.
    pub dir: Option<PathBuf>,
    pub env: BTreeMap<String, String>,
    /// Cores of the program and its children; `None` inherits ours.
    pub cores: Option<Cores>,
    pub stdout: File,
    pub stderr: File,
}

impl Launch {
    pub fn new(program: PathBuf, args: Vec<String>, stdout: File, stderr: File) -> Self {
        Self { program, args, dir: None, env: BTreeMap::new(), cores: None, stdout, stderr }
    }

    pub fn words(&self) -> Vec<String> {
        std::iter::once(self.program.display().to_string()).chain(self.args.iter().cloned()).collect()
    }
}

/// A started program and its descendants in the same process group.
#[derive(Debug)]
pub struct ProcessGroup {
    child: Child,
    id: Pid,
    ended: Option<ExitStatus>,
    stopped: bool,
    registry: Arc<ProcessRegistry>,
}

impl ProcessGroup {
    /// Starts the program. The registry lists the group until it is gone, so that a later run can clean up after a killed one.
    pub fn start(launch: Launch, registry: &Arc<ProcessRegistry>) -> io::Result<Self> {
        let program = launch.program.display().to_string();
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).envs(&launch.env).process_group(0);
        command.stdin(Stdio::null()).stdout(launch.stdout).stderr(launch.stderr);
        let (mark, path) = registry.mark();
        command.env(mark, path);
        if let Some(dir) = &launch.dir {
            command.current_dir(dir);
        }
        // A child inherits the affinity of the thread that starts it, so a pinned thread starts it: this needs neither
        // `taskset` nor a hook between fork and exec.
        let started = thread::scope(|scope| {
            let starter = scope.spawn(|| {
                if let Some(cores) = &launch.cores {
                    pin(cores)?;
                }
                command.spawn()
            });
            starter.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        });
        let child = started.map_err(|e| io::Error::new(e.kind(), format!("cannot start {program}: {e}")))?;
        let id = Pid::from_child(&child);
        let group = Self { child, id, ended: None, stopped: false, registry: registry.clone() };
        registry.add(group.pid())?;
        Ok(group)
    }

    /// Process id of the program, also the id of its group.
    pub fn pid(&self) -> u32 {
        self.id.as_raw_nonzero().get() as u32
    }

    pub fn is_running(&self) -> bool {
        is_running(self.id)
    }

    /// The TCP addresses that any process of the group listens on.
    pub fn listening(&self) -> Vec<SocketAddr> {
        let members: Vec<u32> = members(self.id).into_iter().flatten().collect();
        brunt_meter::listener::addresses_of(&members)
    }

    /// Exit status of the program, once it has ended.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Ends the whole group: SIGTERM, then SIGKILL after `timeout`. Returns when none of its processes runs.
    pub fn stop(&mut self, timeout: Duration) {
        if self.stopped {
            return;
        }
        // ESRCH means that the group is already gone.
        let _ = kill_process_group(self.id, Signal::TERM);
        // A stopped process would never receive SIGTERM.
        let _ = kill_process_group(self.id, Signal::CONT);
        if !self.wait_until_gone(timeout) {
            let _ = kill_process_group(self.id, Signal::KILL);
            // SIGKILL takes time: the kernel first tears down memory and rings.
            self.wait_until_gone(Duration::from_secs(10));
        }
        self.stopped = true;
        self.registry.remove(self.pid());
    }

    fn wait_until_gone(&mut self, timeout: Duration) -> bool {
        poll(timeout, backoff(20), || (self.ended().is_some() && !is_running(self.id)).then_some(())).is_some()
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.stop(STOP_TIMEOUT);
    }
}

/// Pins the calling thread away from the server's cores until dropped.
#[derive(Debug)]
pub struct AffinityGuard(Option<rustix::thread::CpuSet>);

impl AffinityGuard {
    /// Pins the calling thread; does nothing if that is not permitted.
    pub fn pin(cores: &Cores) -> Self {
        let before = rustix::thread::sched_getaffinity(None).ok();
        Self(before.filter(|_| pin(cores).is_ok()))
    }
}

impl Drop for AffinityGuard {
    fn drop(&mut self) {
        if let Some(before) = &self.0 {
            let _ = rustix::thread::sched_setaffinity(None, before);
        }
    }
}

fn pin(cores: &Cores) -> io::Result<()> {
    affinity::pin(&cores.0).map_err(|e| io::Error::other(format!("cannot be pinned to cores {cores}: {e}")))
}

/// How a program ended, as the predicate of a sentence.
pub fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The last lines of a log without control characters: at most `lines`, of at most 200 characters each.
pub fn last_lines(path: &Path, lines: usize) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut tail = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        // Bounds the memory for a huge log.
        file.seek(SeekFrom::Start(length.saturating_sub(16 * 1024)))?;
        file.read_to_end(&mut tail)
    });
    if read.is_err() {
        return Vec::new();
    }
    let text = String::from_utf8_lossy(&tail);
    let clean = |line: &str| line.chars().filter(|c| !c.is_control()).take(200).collect::<String>();
    let mut last: Vec<String> =
        text.lines().rev().map(clean).filter(|line| !line.trim().is_empty()).take(lines).collect();
    last.reverse();
    last
}
