//! Other processes of known behaviour: the test program, started again with one of its tests as the entry point.

use crate::Running;
use std::process::{Command, Stdio};

const ROLE: &str = "BRUNT_TEST_ROLE";

/// The role of this process, if a test started it: the words given to [`Role::command`].
pub fn role() -> Option<String> {
    std::env::var(ROLE).ok()
}

/// A test that does nothing in the test run, and all of its work in processes that [`role`] says are started for it.
pub struct Role(
    /// The name of that test as `--exact` takes it, `module::name`.
    pub &'static str,
);

impl Role {
    /// A process in this role. It prints the lines of the test harness on standard output first.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().expect("this program's path"));
        command.args(["--exact", self.0, "--nocapture", "--include-ignored", "--test-threads=1"]).env(ROLE, words);
        command.stdin(Stdio::null()).stderr(Stdio::null());
        command
    }

    /// The same, started.
    #[track_caller]
    pub fn start(&self, words: &str) -> Running {
        Running::start(&mut self.command(words))
    }
}
