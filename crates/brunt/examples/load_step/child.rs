//! Processes that end when they are dropped.

use rustix::process::{Pid, Signal, kill_process};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// Between SIGTERM and SIGKILL, which a process gets only if it hangs: a controller ends its jobs first, and leaves its groups behind
/// if it is killed.
const GRACE: Duration = Duration::from_secs(120);

#[derive(Debug)]
pub struct Process {
    child: Child,
    name: String,
    /// What it writes to its standard error.
    said: PathBuf,
}

impl Process {
    /// Starts the command in the process group of this process, so that Ctrl-C reaches it too.
    pub fn start(name: &str, home: &Path, command: &mut Command) -> Result<Self, String> {
        let said = home.join(format!("{name}.err"));
        let file = File::create(&said).map_err(|e| format!("{}: {e}", said.display()))?;
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(file).spawn();
        Ok(Self { child: child.map_err(|e| format!("cannot start {name}: {e}"))?, name: name.to_owned(), said })
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// An error if it has ended.
    pub fn check(&mut self) -> Result<(), String> {
        let status = self.child.try_wait().map_err(|e| format!("{}: {e}", self.name))?;
        let Some(status) = status else { return Ok(()) };
        let said = std::fs::read_to_string(&self.said).unwrap_or_default();
        Err(format!("{} has ended ({status}): {}", self.name, said.trim().lines().last().unwrap_or_default()))
    }

    fn end(&mut self) {
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let begin = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if begin.elapsed() >= GRACE {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return;
            }
            sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.child.try_wait(), Ok(None)) {
            self.end();
        }
    }
}
