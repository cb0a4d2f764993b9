//! A load of a web server, while its figures are fetched or pushed.

use super::server::Server;
use brunt_testkit::{Running, Signal};
use serde_json::Value;
use std::io::Read;
use std::process::{Command, Stdio};

/// `brunt serve http`, killed at the end of the test.
#[track_caller]
pub fn web(flags: &str) -> Server {
    let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
    command.args(["serve", "http", "--listen", "127.0.0.1:0"]).args(flags.split_whitespace());
    Server::start(command)
}

/// A load in the background.
pub struct Load {
    running: Running,
    said: Vec<String>,
}

/// What a load left.
pub struct Ended {
    pub code: Option<i32>,
    pub result: Value,
    pub stderr: String,
}

impl Load {
    /// `brunt load http://ADDRESS/ FLAGS --json - --allow-untrusted`.
    #[track_caller]
    pub fn start(address: impl std::fmt::Display, flags: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.arg("load").arg(format!("http://{address}/")).args(flags.split_whitespace());
        command.args(["--json", "-", "--allow-untrusted"]);
        Self::of(command)
    }

    #[track_caller]
    pub fn of(mut command: Command) -> Self {
        let command = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        Self { running: Running::start(command), said: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.running.pid()
    }

    #[track_caller]
    pub fn signal(&self, signal: Signal) {
        self.running.signal(signal);
    }

    /// The rest of a line of stderr with this beginning.
    #[track_caller]
    pub fn heard(&mut self, beginning: &str) -> String {
        while let Some(line) = self.running.line() {
            self.said.push(line.clone());
            if let Some(rest) = line.strip_prefix(beginning) {
                return rest.to_owned();
            }
        }
        panic!("the load did not say {beginning}: {:?}", self.said);
    }

    /// Waits for its end; asserts exit code 0.
    #[track_caller]
    pub fn end(self) -> Ended {
        let ended = self.end_in_any_way();
        assert_eq!(ended.code, Some(0), "{}", ended.stderr);
        ended
    }

    #[track_caller]
    pub fn end_in_any_way(mut self) -> Ended {
        let mut stdout = Vec::new();
        self.running.child().stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        while let Some(line) = self.running.line() {
            self.said.push(line);
        }
        let code = self.running.end().code();
        let result = serde_json::from_slice(&stdout).unwrap_or_default();
        Ended { code, result, stderr: self.said.join("\n") }
    }
}

impl Ended {
    /// A count of `result.json`.
    #[track_caller]
    pub fn count(&self, pointer: &str) -> u64 {
        self.result.pointer(pointer).and_then(Value::as_u64).unwrap_or_else(|| panic!("{pointer}: {:#}", self.result))
    }
}
