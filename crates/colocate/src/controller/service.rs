//! The latency-critical service of a plan, and the source of its latency.

use crate::clock;
use crate::plan;
use crate::signals;
use brunt_meter::{affinity, listener};
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs as _};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

/// From SIGTERM to SIGKILL for a service that was started here.
const STOP: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub(super) struct Service {
    /// Its processes, until they are watched.
    processes: Option<signals::Service>,
    /// Started here, and ended with the run.
    child: Option<Child>,
    log: PathBuf,
}

impl Service {
    pub(super) fn open(plan: &plan::Service, out: &Path) -> io::Result<Self> {
        let log = out.join("service.log");
        let child = plan.command.as_ref().map(|words| start(words, plan.cores.as_ref(), &log)).transpose()?;
        // Ended with this, whatever comes now.
        let mut service = Self { processes: None, child, log };
        let processes = match &service.child {
            Some(child) => signals::Service::process(child.id()).map_err(|error| error.to_string()),
            None => running(plan),
        };
        service.processes = Some(processes.map_err(|why| io::Error::other(format!("[service] {why}")))?);
        Ok(service)
    }

    /// Its processes, for whoever watches them.
    pub(super) fn take(&mut self) -> io::Result<signals::Service> {
        self.processes.take().ok_or_else(|| io::Error::other("the service is watched already"))
    }

    /// How the service ended, if it was started here.
    pub(super) fn ended(&mut self) -> Option<String> {
        let status = self.child.as_mut()?.try_wait().ok().flatten()?;
        Some(format!("the service ended ({status}); its output is in {}", self.log.display()))
    }
}

/// A service that runs already.
///
/// # Errors
/// It does not; with the key of the plan.
pub(super) fn running(plan: &plan::Service) -> Result<signals::Service, String> {
    let (key, found) = match (plan.pid, &plan.listen, &plan.cgroup) {
        (Some(pid), ..) => (format!("pid = {pid}"), signals::Service::process(pid)),
        (None, Some(listen), _) => (format!("listen = \"{listen}\""), signals::Service::listening(&resolved(listen))),
        (None, None, Some(cgroup)) => (format!("cgroup = \"{}\"", cgroup.display()), signals::Service::group(cgroup)),
        (None, None, None) => return Err("it names nothing that runs".to_owned()),
    };
    found.map_err(|error| format!("{key}: {error}"))
}

impl Drop for Service {
    fn drop(&mut self) {
        let Some(child) = &mut self.child else { return };
        let group = rustix::process::Pid::from_child(child);
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::TERM);
        let begin = clock::now();
        while clock::since(begin) < STOP && matches!(child.try_wait(), Ok(None)) {
            clock::sleep(Duration::from_millis(5));
        }
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        let _ = child.wait();
    }
}

/// An address with a host's name, or a port alone, as one with a number: that on which something listens, or else the first.
fn resolved(listen: &str) -> String {
    let (host, port) = listen.rsplit_once(':').unwrap_or(("", listen));
    let host = host.trim_matches(['[', ']']);
    let found: Vec<SocketAddr> = match port.parse() {
        Ok(port) if host.is_empty() || host == "*" => {
            let loopback = SocketAddr::from((Ipv4Addr::LOCALHOST, port));
            std::iter::once(loopback).chain(listener::addresses_with(port)).collect()
        }
        Ok(_) if host.parse::<IpAddr>().is_err() => listen.to_socket_addrs().into_iter().flatten().collect(),
        _ => Vec::new(),
    };
    let found: Vec<String> = found.iter().map(ToString::to_string).collect();
    let listening = found.iter().find(|address| !listener::sockets(address).is_empty());
    listening.or(found.first()).cloned().unwrap_or_else(|| listen.to_owned())
}

/// Starts the service in a process group of its own, on its cores.
fn start(words: &[String], cores: Option<&brunt_results::Cores>, log: &Path) -> io::Result<Child> {
    let named = |what: &str| {
        let what = what.to_owned();
        move |error: io::Error| io::Error::new(error.kind(), format!("{what}: {error}"))
    };
    let (program, args) = words.split_first().ok_or_else(|| io::Error::other("[service] command is empty"))?;
    let out = File::create(log).map_err(named(&log.display().to_string()))?;
    let mut command = Command::new(program);
    command.args(args).process_group(0).stdin(Stdio::null()).stdout(out.try_clone()?).stderr(out);
    // A child inherits the cores of the thread that starts it.
    let start = || {
        if let Some(cores) = cores {
            affinity::pin(&cores.0).map_err(named(&format!("[service] cores {cores}")))?;
        }
        command.spawn().map_err(named(&format!("[service] {program}")))
    };
    let started = thread::scope(|scope| scope.spawn(start).join());
    started.unwrap_or_else(|_| Err(io::Error::other("the service could not be started")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_hosts_and_ports_alone_are_resolved_and_all_else_is_left() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        for listen in [format!("localhost:{port}"), port.to_string(), format!(":{port}"), format!("*:{port}")] {
            assert_eq!(resolved(&listen), format!("127.0.0.1:{port}"), "{listen}");
        }
        // Another address of this machine alone.
        let listener = std::net::TcpListener::bind("127.0.0.9:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        assert_eq!(resolved(&port.to_string()), format!("127.0.0.9:{port}"));
        for same in ["127.0.0.1:80", "[::1]:80", "unix:/run/a.sock", "no-such-host.invalid:80", "nginx"] {
            assert_eq!(resolved(same), same);
        }
    }
}
