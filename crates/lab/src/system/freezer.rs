//! Stops all processes of a group for a while: a target that uses CPU time while it idles would disturb the slices of others.
//! Its connections stay open, and the kernel still acknowledges what arrives.
//!
//! By a control group of version 1 (controller `freezer`) or 2, else by SIGSTOP. A group is not used where it would change how
//! the target is scheduled or limited.
//!
//! Invariants: processes are thawed on drop; a group created here is removed then, those of a killed run by the next run.
//! A frozen process may not react to SIGTERM: drop the freezer before its group of processes is stopped.

use super::cgroup;
use crate::clock::poll;
use brunt_meter::cgroup::{Freeze, Linux, Version, is_frozen, set_frozen};
use brunt_meter::proc_stat;
use rustix::process::{Pid, Signal, kill_process_group};
use std::path::{Path, PathBuf};
use std::{fs, io, time::Duration};

/// Timeout for a freeze to take effect.
const TIMEOUT: Duration = Duration::from_secs(1);
const LOOK_AGAIN: Duration = Duration::from_micros(50);

/// Freezes one process group.
#[derive(Debug)]
pub struct Freezer {
    processes: Pid,
    method: Method,
    frozen: bool,
}

#[derive(Debug)]
enum Method {
    Cgroup(Cgroup),
    Signal,
}

/// A control group with nothing but the processes.
#[derive(Debug)]
struct Cgroup {
    path: PathBuf,
    /// The group that they were in.
    home: PathBuf,
}

impl Freezer {
    /// `group` is the process id of its leader.
    pub fn new(group: u32) -> Result<Self, String> {
        let processes = i32::try_from(group).ok().and_then(Pid::from_raw).filter(|pid| !members(*pid).is_empty());
        let processes = processes.ok_or_else(|| format!("process group {group} has no running process"))?;
        let usable = [Version::One, Version::Two].into_iter().find_map(|version| Cgroup::around(processes, version));
        Ok(Self { processes, method: usable.map_or(Method::Signal, Method::Cgroup), frozen: false })
    }

    pub fn is_frozen(&self) -> bool {
        self.frozen
    }

    /// For a note under a table.
    pub fn method(&self) -> &'static str {
        match self.method {
            Method::Cgroup(_) => "a control group",
            Method::Signal => "SIGSTOP",
        }
    }

    /// Returns once none of the processes can run. The error is one line, and nothing is frozen then.
    pub fn freeze(&mut self) -> Result<(), String> {
        if self.frozen {
            return Ok(());
        }
        let group = self.processes.as_raw_nonzero();
        // Also to be thawed if it takes effect too late.
        self.frozen = true;
        let frozen = match &self.method {
            Method::Cgroup(cgroup) => cgroup.freeze(),
            Method::Signal => stop(self.processes),
        };
        let why = match frozen {
            Ok(true) => return Ok(()),
            Ok(false) => format!("it still runs after {} s", TIMEOUT.as_secs()),
            Err(error) => error.to_string(),
        };
        self.thaw();
        Err(format!("process group {group} cannot be frozen by {}: {why}", self.method()))
    }

    pub fn thaw(&mut self) {
        if std::mem::take(&mut self.frozen) {
            match &self.method {
                Method::Cgroup(cgroup) => cgroup.thaw(),
                // ESRCH means that it has ended.
                Method::Signal => _ = kill_process_group(self.processes, Signal::CONT),
            }
        }
    }
}

impl Drop for Freezer {
    fn drop(&mut self) {
        self.thaw();
    }
}

fn stop(processes: Pid) -> io::Result<bool> {
    kill_process_group(processes, Signal::STOP)?;
    let members = members(processes);
    let stopped = || members.iter().all(|pid| is_stopped(*pid)).then_some(());
    Ok(poll(TIMEOUT, || LOOK_AGAIN, stopped).is_some())
}

/// Whether every thread is stopped, traced or has ended.
fn is_stopped(pid: u32) -> bool {
    let threads = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    let mut stats = threads.filter_map(|thread| fs::read_to_string(thread.path().join("stat")).ok());
    stats.all(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with(['T', 't', 'Z', 'X'])))
}

impl Cgroup {
    /// Moves the processes to a new group; `None` if that is not possible without changing more.
    fn around(processes: Pid, version: Version) -> Option<Self> {
        let (home, path) = cgroup::freezer_group(version)?;
        let cgroup = Self { path, home };
        let fits = version == Version::One || cgroup.only_freezes() && cgroup::is_in_own_v2_group(members(processes));
        (fits && cgroup.take(processes)).then_some(cgroup)
    }

    /// Whether no controller, as of CPU time or memory, acts on the group.
    fn only_freezes(&self) -> bool {
        fs::read_to_string(self.path.join("cgroup.controllers")).is_ok_and(|names| names.trim().is_empty())
    }

    /// Moves all processes, also those that are forked meanwhile.
    fn take(&self, processes: Pid) -> bool {
        for _ in 0..5 {
            let inside = pids(&self.path);
            let outside: Vec<u32> = members(processes).into_iter().filter(|pid| !inside.contains(pid)).collect();
            if outside.is_empty() {
                return true;
            }
            for pid in outside {
                // It may have ended.
                let _ = fs::write(self.path.join("cgroup.procs"), pid.to_string());
            }
        }
        false
    }

    fn freeze(&self) -> io::Result<bool> {
        let dirs = [self.path.clone()];
        set_frozen(&Linux, &dirs, Freeze::Frozen)?;
        Ok(poll(TIMEOUT, || LOOK_AGAIN, || is_frozen(&Linux, &dirs).then_some(())).is_some())
    }

    fn thaw(&self) {
        // It fails only where the group is gone.
        let _ = set_frozen(&Linux, std::slice::from_ref(&self.path), Freeze::Thawed);
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        self.thaw();
        let gone = || {
            for pid in pids(&self.path) {
                let _ = fs::write(self.home.join("cgroup.procs"), pid.to_string());
            }
            fs::remove_dir(&self.path).is_ok().then_some(())
        };
        poll(TIMEOUT, || LOOK_AGAIN, gone);
    }
}

fn members(processes: Pid) -> Vec<u32> {
    proc_stat::members(processes).into_iter().flatten().collect()
}

fn pids(cgroup: &Path) -> Vec<u32> {
    let text = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    text.lines().filter_map(|pid| pid.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::os::{fd::OwnedFd, unix::process::CommandExt};
    use std::process::{Child, Command};

    /// A child that spins, in a group of its own with one that echoes; the connection to it.
    fn spinner() -> (Child, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let near = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let far = OwnedFd::from(listener.accept().unwrap().0);
        let mut command = Command::new("sh");
        command.args(["-c", "while :; do :; done & exec cat"]).process_group(0);
        let child = command.stdin(far.try_clone().unwrap()).stdout(far).spawn().unwrap();
        near.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
        (child, near)
    }

    fn echoes(connection: &mut TcpStream, text: &str) {
        let mut reply = vec![0; text.len()];
        connection.read_exact(&mut reply).unwrap();
        assert_eq!(reply, text.as_bytes());
    }

    fn check(freezer: &mut Freezer, child: u32, connection: &mut TcpStream) {
        let mut tree = brunt_meter::process::Tree::new(&[child]).unwrap();
        let mut used = |time: Duration| {
            let before = tree.sample();
            clock::sleep(time);
            tree.sample().since(&before).total()
        };
        let begin = clock::now();
        freezer.freeze().unwrap();
        println!("{} freezes in {:?}", freezer.method(), clock::since(begin));
        let frozen = used(Duration::from_millis(100));
        assert_eq!(frozen, Duration::ZERO, "{}", freezer.method());
        connection.write_all(b"frozen").unwrap();
        connection.set_nonblocking(true).unwrap();
        assert!(connection.read(&mut [0]).is_err() && freezer.is_frozen());
        connection.set_nonblocking(false).unwrap();
        freezer.thaw();
        echoes(connection, "frozen");
        // Freezing again, and freezing twice, is harmless.
        freezer.freeze().and(freezer.freeze()).unwrap();
        freezer.thaw();
        // A busy machine may have no core for it for a while.
        let runs = format!("{}: it runs again", freezer.method());
        brunt_testkit::until(&runs, || used(Duration::from_millis(20)) > Duration::from_millis(1));
    }

    #[test]
    fn frozen_processes_use_no_cpu_and_keep_their_connections() {
        let (mut child, mut connection) = spinner();
        connection.write_all(b"up").unwrap();
        echoes(&mut connection, "up");
        let processes = Pid::from_child(&child);
        let groups = [Version::One, Version::Two].into_iter().filter_map(|version| Cgroup::around(processes, version));
        let methods = groups.map(Method::Cgroup).chain([Method::Signal]);
        // One after the other, as each moves the processes back.
        for method in methods {
            let path = if let Method::Cgroup(cgroup) = &method { cgroup.path.clone() } else { PathBuf::new() };
            let mut freezer = Freezer { processes, method, frozen: false };
            check(&mut freezer, child.id(), &mut connection);
            freezer.freeze().unwrap();
            drop(freezer);
            assert!(!path.exists(), "{}", path.display());
            connection.write_all(b"dropped").unwrap();
            echoes(&mut connection, "dropped");
        }
        let mut freezer = Freezer::new(child.id()).unwrap();
        check(&mut freezer, child.id(), &mut connection);
        drop(freezer);
        kill_process_group(processes, Signal::KILL).unwrap();
        child.wait().unwrap();
        assert!(Freezer::new(u32::MAX).unwrap_err().contains("no running process"));
    }
}
