//! A server or load of several processes, and its data in `/proc`.

use brunt_testkit::{Running, Signal, text, until};
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::process::{Command, Output, Stdio};
use std::thread;

/// Open files per process: enough for a hundred connections, too few for two hundred.
pub const FILES: u32 = 200;

/// `brunt COMMAND` with [`FILES`] open files per process.
pub fn brunt(command: &str) -> Command {
    let mut shell = Command::new("sh");
    shell.args(["-c", &format!("ulimit -n {FILES}; exec \"$0\" \"$@\""), env!("CARGO_BIN_EXE_brunt")]);
    shell.args(command.split_whitespace());
    shell
}

/// Running children of this process.
pub fn children(pid: u32) -> Vec<u32> {
    let running: HashMap<u32, (u32, String)> = std::fs::read_dir("/proc")
        .unwrap()
        .filter_map(|entry| {
            let pid = entry.ok()?.file_name().to_str()?.parse().ok()?;
            Some((pid, parent_and_state(pid)?))
        })
        .collect();
    let mut own: Vec<u32> =
        running.iter().filter(|(_, (parent, state))| *parent == pid && state != "Z").map(|(pid, _)| *pid).collect();
    own.sort_unstable();
    own
}

fn parent_and_state(pid: u32) -> Option<(u32, String)> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(") ")?.1.split(' ');
    let state = fields.next()?.to_owned();
    Some((fields.next()?.parse().ok()?, state))
}

/// Waits until none of these processes runs.
#[track_caller]
pub fn until_gone(pids: &[u32]) {
    until("the processes are gone", || {
        pids.iter().all(|pid| parent_and_state(*pid).is_none_or(|(_, state)| state == "Z" || state == "X"))
    });
}

/// A running load in its own process group, as started by a shell; killed at the end of the test.
pub struct Load(Running);

impl Load {
    pub fn start(flags: &str) -> Self {
        let mut command = brunt(&format!("load {flags}"));
        Self(Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped())))
    }

    pub fn pid(&self) -> u32 {
        self.0.pid()
    }

    /// Sends a signal to its process group, as a terminal does on Ctrl-C.
    #[track_caller]
    pub fn signal_group(&self, signal: Signal) {
        self.0.signal_group(signal);
    }

    /// Waits for its exit. Processes that it leaves are not ended.
    #[track_caller]
    pub fn end(mut self) -> Output {
        let mut stdout = self.0.child().stdout.take().unwrap();
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).map(|_| bytes)
        });
        let stderr: String = std::iter::from_fn(|| self.0.line()).map(|line| line + "\n").collect();
        let status = self.0.child().wait().unwrap();
        Output { status, stdout: reader.join().unwrap().unwrap(), stderr: stderr.into_bytes() }
    }
}

/// JSON result on stdout.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", text(output)))
}

/// A number in it, by its path.
#[track_caller]
pub fn number(result: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(result, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value}"))
}
