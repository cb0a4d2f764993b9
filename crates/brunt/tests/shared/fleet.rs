//! A fleet on this machine: a real nats-server and real agents, ended with the test.

use brunt_testkit::{Home, Running, free_port, home, text, until};
use serde_json::Value;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::{env, fs};

/// Whether there is a nats-server: tests that need one end without it, unless `BRUNT_NATS=must`.
pub fn is_here() -> bool {
    let found = Command::new("nats-server").arg("--version").output().is_ok_and(|output| output.status.success());
    assert!(found || env::var("BRUNT_NATS").as_deref() != Ok("must"), "nats-server is missing");
    if !found {
        println!("skipped: nats-server is missing");
    }
    found
}

/// `brunt fleet up` and its agents, named `local-1` and so on.
pub struct Fleet {
    up: Running,
    home: Home,
    pub port: u16,
}

impl Fleet {
    /// With so many agents of this machine.
    #[track_caller]
    pub fn up(agents: usize) -> Self {
        Self::up_with(agents, "")
    }

    /// The same with further flags.
    #[track_caller]
    pub fn up_with(agents: usize, flags: &str) -> Self {
        let (home, port) = (home(), free_port());
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.args(["fleet", "up", "--local", &agents.to_string(), "--listen", &format!("127.0.0.1:{port}")]);
        command
            .args(flags.split_whitespace())
            .arg("--dir")
            .arg(home.path())
            .env("BRUNT_STATE_DIR", home.path().join("state"));
        let mut up = Running::start(command.stdin(Stdio::null()).stdout(Stdio::piped()));
        up.line_after("fleet at ");
        Self { up, home, port }
    }

    /// A command of an operator.
    pub fn command(&self, words: &str) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.args(words.split_whitespace()).arg("--fleet").arg(self.home.join("operator.fleet"));
        command.env("BRUNT_STATE_DIR", self.home.join("state")).stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs a command of an operator to its end.
    #[track_caller]
    pub fn run(&self, words: &str) -> Output {
        Running::start(&mut self.command(words)).output()
    }

    /// An agent with a file of its owner.
    #[track_caller]
    pub fn agent(&self, id: &str, config: &str) -> Running {
        let path = self.home.join(format!("{id}.toml"));
        fs::write(&path, config).unwrap();
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.args(["agent", "--config"]).arg(path).arg("--fleet").arg(self.key(id));
        command.env("BRUNT_STATE_DIR", self.home.join("state")).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut agent = Running::start(&mut command);
        agent.line_after("is ready");
        agent
    }

    /// The file of a key for this agent or launch, which the server knows.
    #[track_caller]
    pub fn key(&self, name: &str) -> PathBuf {
        let mut command = Command::new(env!("CARGO_BIN_EXE_brunt"));
        command.args(["fleet", "key", name, "--dir"]).arg(self.home.path()).stdin(Stdio::null());
        let output = Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped())).output();
        assert!(output.status.success() && output.stderr.is_empty(), "{}", text(&output));
        String::from_utf8_lossy(&output.stdout).lines().next().unwrap().into()
    }

    /// What agents say of themselves.
    #[track_caller]
    pub fn agents(&self) -> Vec<Value> {
        let output = self.run("fleet ls --json");
        assert!(output.status.success(), "{}", text(&output));
        serde_json::from_slice(&output.stdout).unwrap()
    }

    /// Waits until all agents that are there are idle.
    #[track_caller]
    pub fn until_idle(&self) {
        until("all agents are idle", || self.agents().iter().all(|agent| agent["state"] == "idle"));
    }

    /// The process of an agent of this fleet.
    #[track_caller]
    pub fn pid_of(&self, id: &str) -> u32 {
        let is_it = |pid: &u32| {
            let words = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words: Vec<&[u8]> = words.split(|byte| *byte == 0).collect();
            let home = self.home.display().to_string();
            let env = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
            let is_of_this = env.windows(home.len()).any(|part| part == home.as_bytes());
            is_of_this && words.contains(&&b"agent"[..]) && words.contains(&id.as_bytes())
        };
        let all = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        all.into_iter().find(is_it).unwrap_or_else(|| panic!("no agent {id}"))
    }

    /// The server's process.
    #[track_caller]
    pub fn pid_of_server(&self) -> u32 {
        let config = self.home.join("nats.conf").display().to_string();
        let is_it = |pid: &u32| {
            let words = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            words.split('\0').any(|word| word == config)
        };
        let all = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        all.into_iter().find(is_it).expect("a nats-server")
    }

    pub fn home(&self) -> &Home {
        &self.home
    }

    /// Waits for its end.
    #[track_caller]
    pub fn ended(mut self) -> std::process::ExitStatus {
        self.up.end()
    }

    /// Ends it as Ctrl-C does.
    #[track_caller]
    pub fn end(mut self) -> std::process::ExitStatus {
        self.up.signal(brunt_testkit::Signal::INT);
        self.up.end()
    }
}

/// As Ctrl-C does, also if the test fails: what it has started ends before the test does.
impl Drop for Fleet {
    fn drop(&mut self) {
        if !self.up.is_over() {
            self.up.signal(brunt_testkit::Signal::INT);
            until("the fleet is down", || self.up.is_over());
        }
    }
}
