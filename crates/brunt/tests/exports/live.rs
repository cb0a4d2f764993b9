//! A load of a web server, while its figures are fetched or pushed.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Mutex, MutexGuard};
use std::thread;
use std::time::Duration;

/// Timeout: anything slower is hung, even on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Held by a test while it loads.
pub fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// `brunt serve http`, killed at the end of the test.
pub struct Web {
    child: Child,
    /// `HOST:PORT`
    pub address: String,
}

impl Web {
    pub fn start(flags: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.args(["serve", "http", "--listen", "127.0.0.1:0"]).args(flags.split_whitespace());
        let mut child = command.stdin(Stdio::null()).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
        let mut line = String::new();
        let mut stderr = BufReader::new(child.stderr.take().unwrap());
        stderr.read_line(&mut line).unwrap();
        let address = line.split_once(" on ").and_then(|(_, rest)| rest.split([' ', ',']).next());
        let address = address.unwrap_or_else(|| panic!("{line}")).to_owned();
        thread::spawn(move || stderr.read_to_end(&mut Vec::new()));
        Self { child, address }
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A load in the background.
pub struct Load {
    child: Child,
    lines: Receiver<String>,
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
    pub fn start(address: &str, flags: &str) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.arg("load").arg(format!("http://{address}/")).args(flags.split_whitespace());
        command.args(["--json", "-", "--allow-untrusted"]);
        Self::of(command)
    }

    pub fn of(mut command: Command) -> Self {
        let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let (sender, lines) = channel();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Self { child, lines, said: Vec::new() }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// The rest of a line of stderr with this beginning.
    #[track_caller]
    pub fn heard(&mut self, beginning: &str) -> String {
        while let Ok(line) = self.lines.recv_timeout(PATIENCE) {
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

    pub fn end_in_any_way(mut self) -> Ended {
        let mut stdout = Vec::new();
        self.child.stdout.take().unwrap().read_to_end(&mut stdout).unwrap();
        let code = self.child.wait().unwrap().code();
        self.said.extend(self.lines.iter());
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
