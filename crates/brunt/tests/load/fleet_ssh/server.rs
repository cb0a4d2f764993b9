//! An sshd on a port of its own, with keys of its own and of its one user, ended with the test; and what ssh needs to reach it. Nothing
//! in the home directory or in /etc is read or written.

use brunt_testkit::{Home, Running, free_port, home, until};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};
use std::{env, fs};

/// It has to be started by its whole path.
const PROGRAM: &str = "/usr/sbin/sshd";

/// Whether it is there: a test that needs it ends without, unless `BRUNT_SSHD=must`.
pub fn is_here() -> bool {
    let found = Path::new(PROGRAM).exists();
    assert!(found || env::var("BRUNT_SSHD").as_deref() != Ok("must"), "{PROGRAM} is missing");
    if !found {
        println!("skipped: {PROGRAM} is missing");
    }
    found
}

pub struct Server {
    running: Running,
    pub home: Home,
    pub port: u16,
}

impl Server {
    /// With further lines of `sshd_config`.
    #[track_caller]
    pub fn start(more: &str) -> Self {
        let (home, port) = (home(), free_port());
        // Without it, one that root starts does not.
        if rustix::process::geteuid().is_root() {
            fs::create_dir_all("/run/sshd").unwrap();
        }
        for key in ["host", "user", "strange"] {
            let mut make = Command::new("ssh-keygen");
            assert!(make.args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(home.join(key)).status().unwrap().success());
        }
        let path = home.path().display();
        let server = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {path}/host\nAuthorizedKeysFile {path}/user.pub\nStrictModes no\n\
             PidFile none\nUsePAM no\nPasswordAuthentication no\nKbdInteractiveAuthentication no\nPermitUserRC no\n\
             SetEnv BRUNT_STATE_DIR={path}/state\n{more}\n"
        );
        fs::write(home.join("sshd_config"), server).unwrap();
        // What the port is of is written into the file of known hosts.
        let client = format!(
            "Host *\nPort {port}\nHostName 127.0.0.1\nHostKeyAlias server\nIdentitiesOnly yes\nIdentityAgent none\n\
             UserKnownHostsFile {path}/known\nGlobalKnownHostsFile /dev/null\nStrictHostKeyChecking yes\n"
        );
        fs::write(home.join("ssh_config"), client).unwrap();
        let running = Running::start(&mut sshd(Command::new(PROGRAM), &home));
        let server = Self { running, home, port };
        server.knows("host");
        until("sshd listens", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        server
    }

    /// Another one with the same keys and settings, at this address, started by a command that begins like this one.
    #[track_caller]
    pub fn another(&self, mut command: Command, address: &str) -> Running {
        command.arg(PROGRAM).arg(format!("-oListenAddress={address}"));
        Running::start(&mut sshd(command, &self.home))
    }

    /// Clients expect this key of the server.
    pub fn knows(&self, key: &str) {
        let public = fs::read_to_string(self.home.join(key).with_extension("pub")).unwrap();
        fs::write(self.home.join("known"), format!("server {public}")).unwrap();
    }

    /// The ssh of a user with this key.
    pub fn ssh(&self, key: &str) -> String {
        let path = self.home.path().display();
        format!("ssh -F {path}/ssh_config -i {path}/{key}")
    }

    /// Processes of its connections.
    pub fn connections(&self) -> Vec<u32> {
        let pid = self.running.pid();
        let children = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
        children.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
    }
}

fn sshd(mut command: Command, home: &Path) -> Command {
    command.args(["-D", "-e", "-f"]).arg(home.join("sshd_config")).stdin(Stdio::null()).stderr(Stdio::null());
    command
}
