//! A co-runner under test.

use brunt_testkit::{Running, Signal};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{ChildStdout, Command, ExitStatus, Stdio};

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
    running: Running,
    stdout: BufReader<ChildStdout>,
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
        let mut running = Running::start(&mut stress(&format!("{flags} --progress")));
        let stdout = BufReader::new(running.child().stdout.take().unwrap());
        Self { running, stdout }
    }

    /// The next line of stdout; `None` at its end.
    pub fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        (self.stdout.read_line(&mut line).unwrap() > 0).then(|| line.trim_end().to_owned())
    }

    /// The next line of stderr.
    pub fn told(&mut self) -> String {
        self.running.line().unwrap_or_default()
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

    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    #[track_caller]
    pub fn wait(&mut self) -> ExitStatus {
        self.running.end()
    }
}

fn parse(line: &str) -> Option<Progress> {
    let words: Vec<&str> = line.split(' ').collect();
    let ["progress", done, unit, elapsed, "s"] = words[..] else { return None };
    Some(Progress { done: done.parse().ok()?, unit: unit.to_owned(), elapsed_s: elapsed.parse().ok()? })
}
