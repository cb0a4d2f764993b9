//! Machines in one network: namespaces that processes of the test hold, gone with these.

use brunt_testkit::{Home, Running, home, until};
use std::fs;
use std::process::{Command, Stdio};

/// Whether they can be made: a test that needs them ends without.
pub fn can_be_made() -> bool {
    let made = Command::new("unshare").args(["--net", "--uts", "true"]).stderr(Stdio::null()).status();
    let can = made.is_ok_and(|status| status.success()) && Command::new("ip").arg("-V").output().is_ok();
    if !can {
        println!("skipped: network namespaces cannot be made here (needs root and iproute2)");
    }
    can
}

pub struct Machine {
    namespace: Running,
    /// Its files, and where its commands run.
    pub home: Home,
}

/// Names and addresses in a network of their own.
pub struct Network {
    pub machines: Vec<Machine>,
    _switch: Running,
}

impl Network {
    /// Each machine has its name and its address.
    #[track_caller]
    pub fn new(machines: &[(&str, &str)]) -> Self {
        let switch = namespace("switch");
        let of_switch = switch.pid().to_string();
        let within = |pid: &str, words: &str| {
            let mut command = Command::new("nsenter");
            command.args(["-t", pid, "-n", "ip"]).args(words.split_whitespace());
            let output = command.output().unwrap();
            assert!(output.status.success(), "{words}: {}", brunt_testkit::text(&output));
        };
        within(&of_switch, "link add bridge type bridge");
        within(&of_switch, "link set bridge up");
        let made = machines.iter().enumerate().map(|(number, (name, address))| {
            let machine = Machine { namespace: namespace(name), home: home() };
            let pid = machine.namespace.pid().to_string();
            within(&of_switch, &format!("link add port{number} type veth peer name eth0 netns {pid}"));
            within(&of_switch, &format!("link set port{number} master bridge up"));
            within(&pid, &format!("addr add {address}/8 dev eth0"));
            within(&pid, "link set eth0 up");
            within(&pid, "link set lo up");
            machine
        });
        Self { machines: made.collect(), _switch: switch }
    }
}

impl Machine {
    /// A command there, whose words follow.
    pub fn command(&self) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["-t", &self.namespace.pid().to_string(), "-n", "-u"])
            .arg(format!("--wd={}", self.home.display()));
        command.env("BRUNT_STATE_DIR", self.home.join("state")).env_remove("BRUNT_FLEET").stdin(Stdio::null());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }
}

/// A process with namespaces of its own.
#[track_caller]
fn namespace(name: &str) -> Running {
    let script = format!("hostname {name} && exec sleep infinity");
    let running =
        Running::start(Command::new("unshare").args(["--net", "--uts", "sh", "-c", &script]).stdin(Stdio::null()));
    let command = format!("/proc/{}/comm", running.pid());
    until("the namespace is there", || fs::read_to_string(&command).is_ok_and(|comm| comm.trim() == "sleep"));
    running
}
