//! A server or load of several processes, and its data in `/proc`.

use crate::server::PATIENCE;
use serde_json::Value;
use std::collections::HashMap;
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

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

/// Waits for a condition, with a timeout for busy machines.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "never: {what}");
        thread::sleep(Duration::from_millis(5));
    }
}

/// Sends a signal by name to a process, or to a process group with a minus before the number.
pub fn signal(name: &str, to: &str) {
    // The shell's built-in `kill`; a machine without procps has no such program.
    assert!(Command::new("sh").args(["-c", &format!("kill -{name} {to}")]).status().unwrap().success());
}

/// A running load in its own process group, as started by a shell; killed at the end of the test.
pub struct Load(Option<Child>);

impl Load {
    pub fn start(flags: &str) -> Self {
        let mut command = brunt(&format!("load {flags}"));
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Self(Some(command.spawn().unwrap()))
    }

    pub fn pid(&self) -> u32 {
        self.0.as_ref().unwrap().id()
    }

    /// Waits for its exit.
    #[track_caller]
    pub fn end(mut self) -> Output {
        let mut child = self.0.take().unwrap();
        let (mut stdout, mut stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let reader = thread::spawn(move || {
            let mut bytes = Vec::new();
            stdout.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let errors = thread::spawn(move || {
            let mut bytes = Vec::new();
            stderr.read_to_end(&mut bytes).unwrap();
            bytes
        });
        let status = ended(&mut child);
        Output { status, stdout: reader.join().unwrap(), stderr: errors.join().unwrap() }
    }
}

/// Time for a load to end, of which a warm-up may be half.
const ENDS: Duration = Duration::from_secs(60);

#[track_caller]
fn ended(child: &mut Child) -> ExitStatus {
    let start = Instant::now();
    loop {
        match child.try_wait().unwrap() {
            Some(status) => return status,
            None if start.elapsed() > ENDS => {
                let _ = child.kill();
                panic!("the load does not end");
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// All output of a command, for assertion messages.
pub fn told(output: &Output) -> String {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    format!("{:?}\nstdout:\n{}\nstderr:\n{}", output.status, text(&output.stdout), text(&output.stderr))
}

/// JSON result on stdout.
#[track_caller]
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {}", told(output)))
}

/// A number in it, by its path.
#[track_caller]
pub fn number(result: &Value, path: &str) -> f64 {
    let value = path.split('.').fold(result, |value, key| &value[key]);
    value.as_f64().unwrap_or_else(|| panic!("{path} is {value}"))
}
