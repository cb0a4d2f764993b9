//! Programs of a fleet that this process starts: they end when their standard input does, and so with this process, however that ends.

use brunt_fleet::nats::Access;
use brunt_lab::system::process_group::{describe_exit, last_lines};
use brunt_results::Error;
use std::fs::File;
use std::io::{self, Write as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Runs the server until it ends, or standard input does.
const SERVER: &str = r#"exec 3<&0; "$0" --config "$1" </dev/null & server=$!
{ read -r _ <&3; kill "$server"; } 2>/dev/null & watch=$!
wait "$server"; status=$?; kill "$watch" 2>/dev/null; exit "$status""#;
/// One that is told to end has this much time.
const END: Duration = Duration::from_secs(5);
const LOOK: Duration = Duration::from_millis(20);

/// A program, ended with the value.
pub(super) struct Held {
    pub name: String,
    child: Child,
    /// `None` where stderr is a pipe.
    pub log: Option<PathBuf>,
}

impl Held {
    /// The NATS server.
    pub fn server(program: &Path, configuration: &Path, log: &Path) -> io::Result<Self> {
        let mut command = Command::new("sh");
        command.args(["-c", SERVER]).arg(program).arg(configuration);
        Self::start("nats-server", command, Some(log))
    }

    /// An agent, by a command that runs one with `--fleet -`. Without a log its stderr is a pipe.
    pub fn agent(name: &str, command: Command, log: Option<&Path>) -> io::Result<Self> {
        Self::start(name, command, log)
    }

    /// Tells an agent how to join.
    pub fn give(&mut self, access: &Access) -> io::Result<()> {
        let access = serde_json::to_string(access).map_err(io::Error::other)?;
        if let Some(stdin) = &mut self.child.stdin {
            // An error is that of one that has ended, which is noticed.
            let _ = writeln!(stdin, "{access}");
        }
        Ok(())
    }

    fn start(name: &str, mut command: Command, log: Option<&Path>) -> io::Result<Self> {
        let named =
            |path: &Path, error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = log.map(|log| File::create(log).map_err(|error| named(log, error))).transpose()?;
        match file {
            Some(file) => command.stdout(file.try_clone()?).stderr(file),
            None => command.stdout(Stdio::null()).stderr(Stdio::piped()),
        };
        // Ctrl-C is for this process, which ends them in order.
        let child = command.stdin(Stdio::piped()).process_group(0).spawn()?;
        Ok(Self { name: name.to_owned(), child, log: log.map(Path::to_owned) })
    }

    /// What it says, where that is a pipe.
    pub fn stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }

    /// How it has ended, if it has.
    pub fn ended(&mut self) -> Option<String> {
        self.child.try_wait().ok().flatten().map(describe_exit)
    }

    /// # Errors
    /// It has ended; with its last line.
    pub fn is_there(&mut self) -> Result<(), Error> {
        let Some(how) = self.ended() else { return Ok(()) };
        let (name, log) = (&self.name, self.log.as_deref().unwrap_or(Path::new("-")));
        let last = last_lines(log, 1).concat();
        Err(Error::Failed(format!("{name} has ended ({how}): {last}; see {}", log.display())))
    }

    /// Tells it to end.
    pub fn tell(&mut self) {
        drop(self.child.stdin.take());
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.tell();
        let began = Instant::now();
        while matches!(self.child.try_wait(), Ok(None)) {
            if began.elapsed() > END {
                let _ = rustix::process::kill_process_group(
                    rustix::process::Pid::from_child(&self.child),
                    rustix::process::Signal::KILL,
                );
                let _ = self.child.wait();
                return;
            }
            thread::sleep(LOOK);
        }
    }
}

/// Waits until something is so, while these programs run.
///
/// # Errors
/// One has ended, it takes too long, or `stop` is set.
pub(super) fn wait(
    stop: &AtomicBool,
    programs: &mut [Held],
    limit: Duration,
    mut is_so: impl FnMut() -> bool,
) -> Result<(), Error> {
    let began = Instant::now();
    while !is_so() {
        programs.iter_mut().try_for_each(Held::is_there)?;
        if stop.load(Ordering::SeqCst) {
            return Err(Error::Failed("interrupted before the fleet was up".to_owned()));
        }
        if began.elapsed() > limit {
            let said = |log: &PathBuf| format!("{}; see {}", last_lines(log, 1).concat(), log.display());
            let said: Vec<String> = programs.iter().flat_map(|one| &one.log).map(said).collect();
            return Err(Error::Failed(format!("the fleet is not up after {limit:?}: {}", said.join(", "))));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}
