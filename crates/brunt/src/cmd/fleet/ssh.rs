//! `--on ssh://HOST`: a fleet for one load, whose agents are started over ssh and reach it back through the same connection.
//!
//! Invariant: each agent has a key of its own, which goes through the standard input of ssh, never through an argument.

use super::access::failed;
use super::children::{Held, wait};
use super::files::Files;
use super::nats_server;
use brunt_fleet::nats::{self, About, Access, Holder};
use brunt_lab::system::ports;
use brunt_results::Error;
use std::io::{BufRead, BufReader};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::Command;
use std::str::FromStr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The command, with flags; `ssh` unless told otherwise.
const COMMAND_VAR: &str = "BRUNT_SSH";
/// Until all agents are there.
const READY: Duration = Duration::from_secs(30);
/// Until the server listens.
const LISTENS: Duration = Duration::from_secs(10);
const LOOK: Duration = Duration::from_millis(50);
/// What to do where the other machine does not let agents reach this one.
const FORWARDING: &str = ": allow it there, as AllowTcpForwarding remote in sshd_config";
/// Of an ssh that has not told the port.
const SILENT: &str = "ssh is not connected yet, or does not say which port it has (OpenSSH does, without -q)";

/// A machine that is reached by ssh.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::cmd) struct Host {
    /// As ssh takes it: `web-1` or `me@web-1`.
    host: String,
    port: Option<u16>,
    /// The brunt program there.
    program: String,
}

impl FromStr for Host {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("'{text}' is no machine: write ssh://HOST, ssh://USER@HOST:PORT or ssh://HOST/PATH/TO/brunt");
        let rest = text.strip_prefix("ssh://").ok_or_else(wrong)?;
        let (place, program) = match rest.find('/') {
            Some(slash) => (&rest[..slash], &rest[slash..]),
            None => (rest, "brunt"),
        };
        let (host, port) = match place.rsplit_once(':') {
            Some((host, port)) if !host.ends_with(':') => (host, Some(port.parse().map_err(|_| wrong())?)),
            _ => (place, None),
        };
        // The words of a remote command are read by a shell; a host that begins with - would be a flag.
        let is_plain = |text: &str| text.chars().all(|c| c.is_ascii_alphanumeric() || "-_.@/+".contains(c));
        if host.is_empty() || host.starts_with('-') || !is_plain(host) || !is_plain(program) {
            return Err(wrong());
        }
        Ok(Self { host: host.to_owned(), port, program: program.to_owned() })
    }
}

/// A fleet that ends with the value.
pub(in crate::cmd) struct Launched {
    pub access: Access,
    /// Ids of its agents, in the order of the machines.
    pub ids: Vec<String>,
    agents: Vec<Agent>,
    _server: Held,
    _home: TempDir,
}

/// An ssh that runs an agent.
struct Agent {
    ssh: Held,
    /// How it joins, but for the port.
    access: Access,
    /// What it says.
    lines: Receiver<String>,
    /// The line that says most: the first that is an error, or else the last.
    last: String,
    /// The agent knows how to join.
    is_told: bool,
}

/// Starts an agent on each of these machines.
///
/// # Errors
/// One cannot be started, or does not reach this machine.
pub(in crate::cmd) fn launch(hosts: &[Host]) -> Result<Launched, Error> {
    let program = nats_server::program(None)?;
    let home = tempfile::Builder::new().prefix("brunt-fleet-").tempdir()?;
    let listen = SocketAddr::from((Ipv4Addr::LOCALHOST, ports::free()?));
    let files = Files::new(home.path(), listen);
    let ids: Vec<String> = hosts.iter().enumerate().map(|(number, host)| host.id(number + 1)).collect();
    let access = files.write(&ids.iter().cloned().map(Holder::Agent).collect::<Vec<_>>())?;
    let mut server = Held::server(&program, &files.configuration(), &files.log())?;
    wait(&AtomicBool::new(false), std::slice::from_mut(&mut server), LISTENS, || nats::agents(&access).is_ok())?;
    let start = |(host, id): (&Host, &String)| {
        let own = Access::read(&files.of(&Holder::Agent(id.clone()))).map_err(failed)?;
        host.start(id, listen.port(), own)
    };
    let agents = hosts.iter().zip(&ids).map(start).collect::<Result<_, _>>()?;
    Ok(Launched { access, ids, agents, _server: server, _home: home })
}

impl Host {
    /// Id of its agent, by its place.
    fn id(&self, number: usize) -> String {
        let host = self.host.rsplit('@').next().unwrap_or_default();
        let name: String = host.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).take(40).collect();
        format!("{name}-{number}")
    }

    fn start(&self, id: &str, port: u16, access: Access) -> Result<Agent, Error> {
        let words = std::env::var(COMMAND_VAR).unwrap_or_else(|_| "ssh".to_owned());
        let mut words = words.split_whitespace();
        let ssh = words.next().unwrap_or("ssh");
        let mut command = Command::new(ssh);
        command.args(words).args(["-T", "-o", "BatchMode=yes", "-o", "ExitOnForwardFailure=yes"]);
        // Port 0 is one that is free there; ssh says which.
        command.args(["-o", "ServerAliveInterval=2", "-R", &format!("127.0.0.1:0:127.0.0.1:{port}")]);
        command.args(self.port.iter().flat_map(|port| ["-p".to_owned(), port.to_string()]));
        // A login that can start programs there can load anything from there.
        let all = "--allow 0.0.0.0/0 --allow [::]/0";
        command.arg(&self.host).arg(format!("{} agent --fleet - --id {id} {all}", self.program));
        let cannot = |why| {
            Error::Failed(format!(
                "cannot start '{ssh}' for {}: {why}: install it, or name it in {COMMAND_VAR}",
                self.host
            ))
        };
        let mut ssh = Held::agent(&self.host, command, None).map_err(cannot)?;
        let (sender, lines) = channel();
        if let Some(stderr) = ssh.stderr() {
            thread::spawn(move || {
                BufReader::new(stderr).lines().map_while(Result::ok).try_for_each(|line| sender.send(line))
            });
        }
        Ok(Agent { ssh, access, lines, last: String::new(), is_told: false })
    }
}

impl Agent {
    /// Tells it how to join, once ssh says by which port.
    ///
    /// # Errors
    /// It has ended.
    fn follow(&mut self) -> Result<(), Error> {
        // What it says last may come after its end.
        let how = self.ssh.ended();
        let lines: Vec<String> =
            if how.is_some() { self.lines.iter().collect() } else { self.lines.try_iter().collect() };
        for line in lines {
            if let Some(port) = forwarded(&line).filter(|_| !self.is_told) {
                self.ssh.give(&Access { url: format!("nats://127.0.0.1:{port}"), ..self.access.clone() })?;
                self.is_told = true;
            } else if !is_error(&self.last) && !line.trim().is_empty() {
                self.last = line;
            }
        }
        let Some(how) = how else { return Ok(()) };
        let why = if self.last.contains("forwarding failed") { FORWARDING } else { "" };
        Err(Error::Failed(format!("no agent on {} ({how}): {}{why}", self.ssh.name, self.last)))
    }
}

/// As clap and this program begin one.
fn is_error(line: &str) -> bool {
    line.starts_with("error: ")
}

/// The port that ssh has got from the other machine, if it says so.
fn forwarded(line: &str) -> Option<u16> {
    let (port, _) = line.strip_prefix("Allocated port ")?.split_once(" for remote forward")?;
    port.parse().ok()
}

impl Launched {
    /// The agents, once all are there.
    ///
    /// # Errors
    /// One has ended, they take too long, or `stop` is set.
    pub fn agents(&mut self, stop: Option<&AtomicBool>) -> Result<Vec<About>, Error> {
        let began = Instant::now();
        loop {
            let found = nats::agents(&self.access).map_err(failed)?;
            if found.len() == self.ids.len() {
                return Ok(found);
            }
            self.agents.iter_mut().try_for_each(Agent::follow)?;
            if stop.is_some_and(|stop| stop.load(Ordering::SeqCst)) {
                return Err(Error::Failed("interrupted before the agents were there".to_owned()));
            }
            if began.elapsed() > READY {
                let missing =
                    self.agents.iter().zip(&self.ids).find(|(_, id)| found.iter().all(|agent| agent.id != **id));
                let of = |(agent, _): (&Agent, _)| {
                    let last = if agent.is_told { agent.last.as_str() } else { SILENT };
                    format!("the agent on {} is not there after {READY:?}: {last}", agent.ssh.name)
                };
                return Err(Error::Failed(missing.map_or_else(String::new, of)));
            }
            thread::sleep(LOOK);
        }
    }
}

impl Drop for Launched {
    fn drop(&mut self) {
        // All at once, and not one after another.
        self.agents.iter_mut().for_each(|agent| agent.ssh.tell());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_port_is_read_as_openssh_says_it() {
        assert_eq!(forwarded("Allocated port 43211 for remote forward to 127.0.0.1:4222"), Some(43211));
        assert_eq!(forwarded("may load everything"), None);
    }

    #[test]
    fn machines_are_read_and_what_a_shell_would_read_otherwise_is_refused() {
        let host = |host: &str, port, program: &str| Host { host: host.to_owned(), port, program: program.to_owned() };
        for (text, expected) in [
            ("ssh://web-1", host("web-1", None, "brunt")),
            ("ssh://me@10.0.0.7:2222", host("me@10.0.0.7", Some(2222), "brunt")),
            ("ssh://web/opt/brunt-1.2/brunt", host("web", None, "/opt/brunt-1.2/brunt")),
        ] {
            assert_eq!(text.parse(), Ok(expected));
        }
        for text in [
            "web",
            "ssh://",
            "ssh://-oProxyCommand=x",
            "ssh://a b",
            "ssh://a;b",
            "ssh://a/$(b)",
            "ssh://a:x",
            "ssh://a'",
        ] {
            assert!(text.parse::<Host>().is_err_and(|why| why.contains("ssh://HOST")), "{text}");
        }
        assert_eq!(host("me@10.0.0.7", None, "").id(2), "10-0-0-7-2");
    }
}
