//! A program in a process group of its own, pinned to its cores, and the promise that the whole group is gone when the
//! value is: on success, on an error, on Ctrl-C and on a panic alike. It never waits without an end.

use super::{proc_stat::is_running, process_registry::ProcessRegistry};
use brunt_results::Cores;
use rustix::process::{Pid, Signal, kill_process_group};
use std::{
    collections::BTreeMap,
    fs::File,
    io,
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{Path, PathBuf},
    process::{Child, Command, ExitStatus, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

/// How long a group may take to end by itself once asked.
pub const STOP_TIMEOUT: Duration = Duration::from_secs(2);

/// What is to be started.
#[derive(Debug)]
pub struct Launch {
    /// The program: a name to be found in `PATH`, or a path.
    pub program: PathBuf,
    /// Its arguments.
    pub args: Vec<String>,
    /// Its working directory; `None` is ours.
    pub dir: Option<PathBuf>,
    /// Added to its environment.
    pub env: BTreeMap<String, String>,
    /// The cores that it and its children may use; `None` is all of ours.
    pub cores: Option<Cores>,
    /// Takes its standard output.
    pub stdout: File,
    /// Takes its standard error.
    pub stderr: File,
}

impl Launch {
    /// The command line, for people and for the record.
    pub fn words(&self) -> Vec<String> {
        std::iter::once(self.program.display().to_string()).chain(self.args.iter().cloned()).collect()
    }
}

/// A started program and all its children that stay in its process group.
#[derive(Debug)]
pub struct ProcessGroup {
    child: Child,
    id: Pid,
    ended: Option<ExitStatus>,
    stopped: bool,
    ledger: Arc<ProcessRegistry>,
}

impl ProcessGroup {
    /// Starts the program. The ledger knows the group until it is gone, so that not even a killed run leaves it behind.
    pub fn start(launch: Launch, ledger: &Arc<ProcessRegistry>) -> io::Result<Self> {
        let program = launch.program.display().to_string();
        let mut command = Command::new(&launch.program);
        command.args(&launch.args).envs(&launch.env).process_group(0);
        command.stdin(Stdio::null()).stdout(launch.stdout).stderr(launch.stderr);
        let (mark, path) = ledger.mark();
        command.env(mark, path);
        if let Some(dir) = &launch.dir {
            command.current_dir(dir);
        }
        // Affinity is inherited from the thread that starts the program, so a thread of its own is pinned for it: the
        // program needs no flag for it, and neither `taskset` nor a hook between fork and exec is called for.
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
        let group = Self { child, id, ended: None, stopped: false, ledger: ledger.clone() };
        ledger.add(group.pid())?;
        Ok(group)
    }

    /// The process id of the program, which is also the id of its group.
    pub fn pid(&self) -> u32 {
        self.id.as_raw_nonzero().get() as u32
    }

    /// Whether anything of it runs.
    pub fn is_running(&self) -> bool {
        is_running(self.id)
    }

    /// How the program itself ended, if it has.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait().ok().flatten();
        }
        self.ended
    }

    /// Ends the whole group: asks, waits for at most `patience`, then kills. Returns when nothing of it runs.
    pub fn stop(&mut self, patience: Duration) {
        if self.stopped {
            return;
        }
        // A group that is gone already answers ESRCH to each of these, which is what is wanted.
        let _ = kill_process_group(self.id, Signal::TERM);
        // A stopped process would otherwise hold the signal back for ever.
        let _ = kill_process_group(self.id, Signal::CONT);
        if !self.gone_within(patience) {
            let _ = kill_process_group(self.id, Signal::KILL);
            // Death by SIGKILL is certain but not immediate: memory and rings are torn down first.
            self.gone_within(Duration::from_secs(10));
        }
        self.stopped = true;
        self.ledger.remove(self.pid());
    }

    fn gone_within(&mut self, limit: Duration) -> bool {
        let since = Instant::now();
        let mut pause = Duration::from_millis(1);
        loop {
            if self.ended().is_some() && !is_running(self.id) {
                return true;
            }
            if since.elapsed() >= limit {
                return false;
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(20));
        }
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        self.stop(STOP_TIMEOUT);
    }
}

/// Keeps the calling thread on some cores while it lives: off those of the server, which is being measured.
#[derive(Debug)]
pub struct AffinityGuard(Option<rustix::thread::CpuSet>);

impl AffinityGuard {
    /// Moves the calling thread. Where that is forbidden it stays where it is; it is a courtesy, not a need.
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
    let mut set = rustix::thread::CpuSet::new();
    for core in cores.0.iter().filter(|core| **core < rustix::thread::CpuSet::MAX_CPU) {
        set.set(*core);
    }
    rustix::thread::sched_setaffinity(None, &set)
        .map_err(|e| io::Error::other(format!("cannot be pinned to cores {cores}: {e}")))
}

/// How a program ended, in words.
pub fn describe_exit(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("ended with status {code}"),
        (None, Some(signal)) => format!("was killed by signal {signal}"),
        (None, None) => "ended".to_owned(),
    }
}

/// The last lines of a log, fit for a terminal: at most `lines` of them, of at most 200 characters each.
pub fn last_lines(path: &Path, lines: usize) -> Vec<String> {
    use std::io::{Read, Seek, SeekFrom};
    let mut tail = Vec::new();
    let read = File::open(path).and_then(|mut file| {
        let length = file.metadata()?.len();
        // A program that floods its log must not fill our memory.
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
