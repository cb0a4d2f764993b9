//! Programs that print counts: the user's own, and `brunt load`.

use super::{feed::Feed, file, invalid, lines::Lines};
use crate::clock;
use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process_group, waitid};
use std::fs;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

const CHUNK: usize = 64 << 10;
/// From SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(1);
const STEP: Duration = Duration::from_millis(5);

/// The program, in a process group of its own. Dropped, it ends.
#[derive(Debug)]
pub struct Child {
    process: process::Child,
    name: String,
    /// Last line of its standard error.
    said: Arc<Mutex<String>>,
    /// With the pipe of the counts; removed at the end.
    folder: Option<PathBuf>,
}

impl Child {
    /// Starts a program whose standard output is lines of counts.
    pub fn command(feed: &Arc<Feed>, command: &[String]) -> io::Result<Self> {
        let [program, arguments @ ..] = command else { return Err(invalid("the command of the source is empty")) };
        let mut child = Self::start(Command::new(program).args(arguments).stdout(Stdio::piped()), program, None)?;
        let (stdout, feed) = (child.process.stdout.take(), Arc::clone(feed));
        thread::Builder::new().name("counts".to_owned()).spawn(move || stdout.map(|stdout| read(stdout, &feed)))?;
        Ok(child)
    }

    /// Starts `brunt load`, which writes its counts into a pipe.
    pub fn load(feed: &Arc<Feed>, brunt: &Path, arguments: &[String], slo: &str) -> io::Result<Self> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let name = format!("brunt-counts-{}-{}", process::id(), NUMBER.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(name);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", folder.display()));
        fs::create_dir(&folder).map_err(named)?;
        let pipe = folder.join("counts");
        let made = mkfifoat(CWD, &pipe, Mode::RUSR | Mode::WUSR).map_err(io::Error::from).map_err(named);
        let followed = made.and_then(|()| file::follow(feed, &pipe));
        let mut command = Command::new(brunt);
        command.arg("load").arg("--quiet").arg("--counts").arg(&pipe).args(["--slo", slo]).args(arguments);
        let started = followed.and_then(|()| Self::start(command.stdout(Stdio::null()), "brunt load", Some(&folder)));
        started.inspect_err(|_| drop(fs::remove_dir_all(&folder)))
    }

    fn start(command: &mut Command, name: &str, folder: Option<&Path>) -> io::Result<Self> {
        let command = command.stdin(Stdio::null()).stderr(Stdio::piped()).process_group(0);
        let process = command.spawn();
        let named = |error: io::Error| io::Error::new(error.kind(), format!("cannot start '{name}': {error}"));
        let mut process = process.map_err(named)?;
        let (stderr, said) = (process.stderr.take(), Arc::default());
        let last = Arc::clone(&said);
        let child = Self { process, name: name.to_owned(), said, folder: folder.map(Path::to_owned) };
        let listen = move || stderr.map(|stderr| listen(BufReader::new(stderr), &last));
        thread::Builder::new().name("counts-errors".to_owned()).spawn(listen)?;
        Ok(child)
    }

    /// Whether nothing listens yet where it wants to connect.
    pub fn is_refused(&self) -> bool {
        self.status().is_some()
            && self.said.lock().unwrap_or_else(PoisonError::into_inner).contains("connection refused")
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        let status = self.status()?;
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said = if said.is_empty() { String::new() } else { format!(": {said}") };
        Some(format!("{}, the source of the counts, has ended ({status}){said}", self.name))
    }
}

impl Child {
    fn group(&self) -> Option<Pid> {
        Pid::from_raw(self.process.id() as i32)
    }

    /// Its status, once it has ended. It stays a zombie, so that its group has no other processes than its own.
    fn status(&self) -> Option<String> {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        match waitid(WaitId::Pid(self.group()?), options) {
            Ok(None) => None,
            Ok(Some(status)) => Some(match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => format!("exit code {code}"),
                (None, Some(signal)) => format!("signal {signal}"),
                (None, None) => "unknown status".to_owned(),
            }),
            Err(error) => Some(error.to_string()),
        }
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        let group = self.group();
        let signal = |signal| group.map(|group| kill_process_group(group, signal));
        let until = clock::now() + GRACE;
        signal(Signal::TERM);
        while self.status().is_none() && clock::now() < until {
            clock::sleep(STEP);
        }
        signal(Signal::KILL);
        let _ = self.process.wait();
        let _ = self.folder.as_ref().map(fs::remove_dir_all);
    }
}

fn read(mut stdout: impl Read, feed: &Feed) {
    let (mut lines, mut chunk) = (Lines::default(), [0; CHUNK]);
    while let Ok(length @ 1..) = stdout.read(&mut chunk) {
        lines.add(&chunk[..length], feed);
    }
}

fn listen(stderr: impl BufRead, last: &Mutex<String>) {
    for line in stderr.lines().map_while(Result::ok).filter(|line| !line.trim().is_empty()) {
        *last.lock().unwrap_or_else(PoisonError::into_inner) = line;
    }
}
