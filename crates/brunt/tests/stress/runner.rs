//! A co-runner under test.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

/// Time after which a test counts as hung.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Small loads of all resources, with the unit of each. `dir` is for the files of `disk`.
pub fn resources(dir: &Path) -> [(String, &'static str); 6] {
    [
        ("cpu".to_owned(), "operations"),
        ("cache --size 256KiB --order dependent".to_owned(), "accesses"),
        ("memory --size 1MiB --kernel copy".to_owned(), "bytes"),
        ("network --size 4KiB".to_owned(), "bytes"),
        (format!("disk --size 1MiB --block 64KiB --write buffered --order random --dir {}", dir.display()), "bytes"),
        ("fork --burst 2".to_owned(), "processes"),
    ]
}

/// `brunt stress FLAGS`, flags separated by blanks.
pub fn stress(flags: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.arg("stress").args(flags.split_whitespace());
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// The total of a co-runner that ends by itself.
#[track_caller]
pub fn total(flags: &str) -> serde_json::Value {
    let output = stress(&format!("{flags} --json")).output().unwrap();
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{flags}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
    serde_json::from_slice(&output.stdout).unwrap()
}

/// A running co-runner with --progress, killed at the end of the test.
pub struct Runner {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

/// A line of progress.
#[derive(Debug, PartialEq)]
pub struct Progress {
    pub done: u64,
    pub unit: String,
    pub elapsed_s: f64,
}

impl Runner {
    pub fn start(flags: &str) -> Self {
        let mut child = stress(&format!("{flags} --progress")).spawn().unwrap();
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        Self { child, stdout: BufReader::new(stdout), stderr: BufReader::new(stderr) }
    }

    /// The next line of stdout; `None` at its end.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.stdout.read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
    }

    /// The next line of stderr.
    pub fn told(&mut self) -> String {
        let mut line = String::new();
        self.stderr.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    /// The next line of progress.
    #[track_caller]
    pub fn progress(&mut self) -> Progress {
        let line = self.line().unwrap_or_default();
        parse(&line).unwrap_or_else(|| panic!("no progress but {line:?}, {:?}", self.told()))
    }

    /// The remaining lines of progress and the first line of the total.
    #[track_caller]
    pub fn rest(&mut self) -> (Vec<Progress>, String) {
        let mut all = Vec::new();
        loop {
            let line = self.line().unwrap_or_default();
            match parse(&line) {
                Some(progress) => all.push(progress),
                None => return (all, line),
            }
        }
    }

    pub fn signal(&self, name: &str) {
        // The shell's built-in `kill`; a machine without procps has no such program.
        let kill = format!("kill -{name} {}", self.child.id());
        assert!(Command::new("sh").args(["-c", &kill]).status().unwrap().success());
    }

    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        let start = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return status;
            }
            assert!(start.elapsed() < PATIENCE, "it does not end");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

impl Drop for Runner {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn parse(line: &str) -> Option<Progress> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["progress", done, unit, elapsed, "s"] = words[..] else { return None };
    Some(Progress { done: done.parse().ok()?, unit: unit.to_owned(), elapsed_s: elapsed.parse().ok()? })
}
