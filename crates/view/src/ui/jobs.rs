//! Loads that the page starts: child processes, one at a time, which end with this one.

use brunt_lab::history;
use brunt_lab::run_directory::default_directory;
use brunt_lab::system::process_group::{describe_exit, last_lines};
use brunt_results::Error;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs::{self, File};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time for a load to write its result once it is to end.
const PATIENCE: Duration = Duration::from_secs(5);
/// File of a load's messages, in its directory.
const MESSAGES: &str = "messages.txt";
/// Messages shown, at most.
const SHOWN: usize = 8;

#[derive(Debug)]
pub(super) struct Jobs {
    program: PathBuf,
    folder: PathBuf,
    all: Mutex<Vec<Job>>,
}

#[derive(Debug)]
struct Job {
    directory: PathBuf,
    /// As in a shell.
    command: String,
    child: Child,
    status: Option<ExitStatus>,
}

impl Job {
    fn is_running(&mut self) -> bool {
        if self.status.is_none() {
            self.status = self.child.try_wait().ok().flatten();
        }
        self.status.is_none()
    }

    fn signal(&self, signal: Signal) {
        // It may just have ended.
        let _ = kill_process(Pid::from_child(&self.child), signal);
    }
}

impl Jobs {
    /// `program` is that of `brunt load`; loads get directories in `folder`.
    pub fn new(program: PathBuf, folder: PathBuf) -> Self {
        Self { program, folder, all: Mutex::default() }
    }

    fn all(&self) -> MutexGuard<'_, Vec<Job>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts `brunt load` with these words; returns its directory.
    ///
    /// # Errors
    /// One runs already: two would measure each other. Or the process cannot be started.
    pub fn start(&self, words: &[String], show: impl Fn(&[String]) -> String) -> Result<PathBuf, Error> {
        let mut all = self.all();
        if all.iter_mut().any(Job::is_running) {
            return Err(Error::Usage("a load is running, and two would measure each other: stop it first".to_owned()));
        }
        let directory = default_directory(&self.folder, "load")?;
        fs::create_dir_all(&directory)?;
        let directory = directory.canonicalize()?;
        let place =
            directory.to_str().ok_or_else(|| Error::Failed("the name of the directory is no text".to_owned()))?;
        let words = [words, &["--out".to_owned(), place.to_owned()]].concat();
        let messages = File::create(directory.join(MESSAGES))?;
        let mut command = Command::new(&self.program);
        command.arg("load").args(&words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(messages);
        // A group of its own, so that Ctrl-C in the terminal reaches it once: through this process.
        let child = command.process_group(0).spawn()?;
        // A load that is missing from brunt list is still shown here.
        let _ = history::folder().and_then(|folder| history::register(&folder, &directory));
        all.push(Job { directory: directory.clone(), command: show(&words), child, status: None });
        Ok(directory)
    }

    /// Ends the load of this directory early, as Ctrl-C does; false if there is none that runs.
    pub fn stop(&self, directory: &Path) -> bool {
        let mut all = self.all();
        let job = all.iter_mut().find(|job| job.directory == directory).filter(|job| job.status.is_none());
        job.is_some_and(|job| job.is_running().then(|| job.signal(Signal::INT)).is_some())
    }

    /// The load of this directory, for its page.
    pub fn state(&self, directory: &Path) -> Option<Value> {
        let mut all = self.all();
        let job = all.iter_mut().find(|job| job.directory == directory)?;
        let is_running = job.is_running();
        // 0, 3 and 99: there is a result, whatever it says.
        let failed = job.status.filter(|status| !matches!(status.code(), Some(0 | 3 | 99)));
        Some(json!({
            "command": job.command,
            "running": is_running,
            "ended": failed.map(describe_exit),
            "messages": failed.map(|_| last_lines(&directory.join(MESSAGES), SHOWN)),
        }))
    }

    /// Ends all loads, and waits for them.
    pub fn end(&self) {
        let mut all = self.all();
        all.iter_mut().filter_map(|job| job.is_running().then_some(&*job)).for_each(|job| job.signal(Signal::INT));
        let until = Instant::now() + PATIENCE;
        while all.iter_mut().any(Job::is_running) && Instant::now() < until {
            thread::sleep(Duration::from_millis(20));
        }
        for job in all.iter_mut() {
            if job.is_running() {
                job.signal(Signal::KILL);
                let _ = job.child.wait();
            }
        }
    }
}

impl Drop for Jobs {
    fn drop(&mut self) {
        self.end();
    }
}
