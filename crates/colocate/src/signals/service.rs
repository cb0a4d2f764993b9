//! The processes of the LC service: a process with its descendants, those that own a listening address, or a control group.
//! They may end and be replaced.

use super::rate::is_due;
use crate::cgroup::Group;
use brunt_meter::cgroup::Linux;
use brunt_meter::proc_stat::start_time;
use brunt_meter::{ProcessTree, SamplingBudget, listener};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::{fs, io};

/// Time between two looks for new owners of the address.
const OWNERS: Duration = Duration::from_secs(3);

/// Time between two looks for new descendants, of some milliseconds each on a machine where processes are started.
const DESCENDANTS: Duration = Duration::from_secs(3);

#[derive(Debug)]
pub struct Service(Kind);

#[derive(Debug)]
enum Kind {
    Tree(Box<Followed>),
    Group { group: Group, pids: Vec<u32> },
}

#[derive(Debug)]
struct Followed {
    /// Where it listens, if it is found by that, and the inodes of its sockets.
    listens: Option<(String, BTreeSet<u64>)>,
    tree: ProcessTree,
    roots: Vec<u32>,
    cpu_seconds: f64,
    /// What is to be added to the tree's CPU time, in seconds, so that the sum goes on when the tree is another.
    offset: f64,
    looked_for_owners: Option<Instant>,
    looked_for_descendants: Option<Instant>,
    /// Of looking for descendants, which reads all processes of the machine if any was forked.
    descendants: SamplingBudget,
    /// Of looking for the owners, which reads their descriptors too.
    owners: SamplingBudget,
}

impl Service {
    /// This process and its descendants.
    pub fn process(pid: u32) -> io::Result<Self> {
        let tree = ProcessTree::new(&[pid]).map_err(io::Error::other)?;
        Ok(Self(Kind::Tree(Box::new(Followed::new(None, tree, vec![pid])))))
    }

    /// The processes that own the listening address `IP:PORT` or `unix:PATH`, and their descendants; whoever replaces them is
    /// found within a few seconds.
    pub fn listening(address: &str) -> io::Result<Self> {
        let sockets = listener::sockets(address);
        // There it is the key of a plan.
        let named = |why: String| io::Error::other(why.replace("--server-pid", "pid"));
        let roots = listener::find(address).map_err(named)?.roots;
        let tree = ProcessTree::new(&roots).map_err(io::Error::other)?;
        Ok(Self(Kind::Tree(Box::new(Followed::new(Some((address.to_owned(), sockets)), tree, roots)))))
    }

    /// The processes in this directory of a hierarchy of control groups, and in those below it.
    pub fn group(dir: &Path) -> io::Result<Self> {
        let dir = fs::canonicalize(dir).map_err(|error| {
            let example = "/sys/fs/cgroup/system.slice/nginx.service";
            io::Error::new(error.kind(), format!("{error}; it is the directory of a control group, such as {example}"))
        })?;
        let group = Group::of(Arc::new(Linux), vec![dir.clone()]);
        if group.cpu().is_none() {
            return Err(io::Error::other(
                "it has no account of CPU time; name its directory in the hierarchy of version 2, or in that of cpuacct",
            ));
        }
        let pids = group.members().into_iter().collect();
        Ok(Self(Kind::Group { group, pids }))
    }

    /// Names of it that no other service has, for as long as it lives.
    pub fn names(&self) -> Vec<String> {
        let of_process = |pid: &u32| format!("pid-{pid}-{}", start_time(*pid).unwrap_or(0));
        match &self.0 {
            Kind::Group { group, .. } => vec![format!("cgroup-{}", plain(&group.dirs()[0].display().to_string()))],
            Kind::Tree(followed) => {
                let address = followed.listens.as_ref().map(|(address, _)| format!("listen-{}", plain(address)));
                address.into_iter().chain(followed.roots.iter().map(of_process)).collect()
            }
        }
    }

    /// Whether it had a process at the last refresh.
    pub fn is_alive(&self) -> bool {
        match &self.0 {
            Kind::Tree(followed) => followed.tree.is_alive(),
            Kind::Group { pids, .. } => !pids.is_empty(),
        }
    }

    /// Its processes at the last refresh.
    pub fn pids(&self) -> Vec<u32> {
        match &self.0 {
            Kind::Tree(followed) => followed.tree.pids(),
            Kind::Group { pids, .. } => pids.clone(),
        }
    }

    /// Its control group, if it is one.
    pub(super) fn own_group(&self) -> Option<&Group> {
        match &self.0 {
            Kind::Tree(_) => None,
            Kind::Group { group, .. } => Some(group),
        }
    }

    /// Where its CPU time comes from.
    pub(super) fn evidence(&self) -> String {
        match &self.0 {
            Kind::Tree(followed) => match &followed.listens {
                Some((address, _)) => format!("CPU clocks of the processes that own {address}"),
                None => format!("CPU clocks of the process {} and its descendants", followed.roots[0]),
            },
            Kind::Group { group, .. } => group.dirs()[0].display().to_string(),
        }
    }

    /// Reads its processes again.
    pub fn refresh(&mut self, now: Instant) {
        match &mut self.0 {
            Kind::Tree(followed) => followed.refresh(now),
            Kind::Group { group, pids } => *pids = group.members().into_iter().collect(),
        }
    }

    /// That it has no process at the moment, if so, and whether none can follow.
    pub fn absence(&self) -> Option<(String, bool)> {
        if self.is_alive() {
            return None;
        }
        Some(match &self.0 {
            Kind::Group { group, .. } => (format!("no process is in {}", group.dirs()[0].display()), false),
            Kind::Tree(followed) => match &followed.listens {
                Some((address, _)) => (format!("nothing listens on {address}"), false),
                None => (format!("process {} and its descendants have ended", followed.roots[0]), true),
            },
        })
    }

    /// CPU time in seconds, as of the last refresh; the origin means nothing. `None` without a process.
    pub(super) fn cpu_seconds(&self) -> Option<f64> {
        match &self.0 {
            Kind::Tree(followed) => followed.tree.is_alive().then_some(followed.cpu_seconds),
            Kind::Group { group, .. } => group.cpu().map(|cpu| cpu.as_secs_f64()),
        }
    }
}

/// As a part of the name of a file.
fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() || ".-".contains(c) { c } else { '_' }).collect()
}

impl Followed {
    fn new(listens: Option<(String, BTreeSet<u64>)>, mut tree: ProcessTree, roots: Vec<u32>) -> Self {
        let cpu_seconds = tree.cpu_seconds();
        Self {
            listens,
            tree,
            roots,
            cpu_seconds,
            offset: 0.0,
            looked_for_owners: None,
            looked_for_descendants: None,
            descendants: SamplingBudget::default(),
            owners: SamplingBudget::default(),
        }
    }

    fn refresh(&mut self, now: Instant) {
        let Self { tree, descendants, .. } = self;
        let sampled = if is_due(&mut self.looked_for_descendants, now, DESCENDANTS) {
            descendants.take(|| tree.cpu_seconds())
        } else {
            None
        };
        let of_tree = sampled.unwrap_or_else(|| tree.known_cpu_seconds());
        self.cpu_seconds = self.offset + of_tree;
        if is_due(&mut self.looked_for_owners, now, OWNERS) || !self.tree.is_alive() {
            self.replace();
        }
    }

    /// Looks whether other processes own the address now.
    fn replace(&mut self) {
        let Some((address, sockets)) = &mut self.listens else { return };
        let now = listener::sockets(address);
        if (now == *sockets && self.tree.is_alive()) || now.is_empty() {
            return;
        }
        let Some(Ok(found)) = self.owners.take(|| listener::find(&*address)) else { return };
        *sockets = now;
        if let Ok(mut tree) = ProcessTree::new(&found.roots)
            && (found.roots != self.roots || !self.tree.is_alive())
        {
            self.offset = self.cpu_seconds - tree.cpu_seconds();
            (self.tree, self.roots) = (tree, found.roots);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_testkit::{Running, until};
    use std::net::TcpListener;
    use std::os::fd::OwnedFd;
    use std::process::{Command, Stdio};

    /// A process that holds a listening socket.
    fn owner(socket: TcpListener) -> Running {
        Running::start(Command::new("sleep").arg("1000").stdin(OwnedFd::from(socket)))
    }

    #[track_caller]
    fn refresh_until(service: &mut Service, is_so: impl Fn(&Service) -> bool) {
        until("the service has these processes", || {
            service.refresh(crate::clock::now());
            is_so(service)
        });
    }

    #[test]
    fn whoever_listens_next_is_followed_and_its_cpu_time_goes_on() {
        let socket = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = socket.local_addr().unwrap();
        let first = owner(socket);
        let mut service = Service::listening(&address.to_string()).unwrap();
        assert_eq!((service.pids(), service.is_alive()), (vec![first.pid()], true));
        let before = service.cpu_seconds().unwrap();
        drop(first);
        service.refresh(crate::clock::now());
        assert!(!service.is_alive());
        let second = owner(TcpListener::bind(address).unwrap());
        refresh_until(&mut service, |service| service.pids() == [second.pid()]);
        let later = service.cpu_seconds().unwrap();
        assert!(later >= before && later < before + 60.0, "{before} {later}");
    }

    #[test]
    fn a_process_counts_with_what_it_starts_and_a_group_with_what_is_in_it() {
        let shell = Running::start(Command::new("sh").args(["-c", "sleep 1000 & wait"]).stdin(Stdio::null()));
        let mut service = Service::process(shell.pid()).unwrap();
        refresh_until(&mut service, |service| service.pids().len() == 2);
        let group = tempfile::tempdir().unwrap();
        fs::write(group.path().join("cgroup.procs"), format!("{}\n", shell.pid())).unwrap();
        let error = Service::group(group.path()).unwrap_err().to_string();
        assert!(error.contains("has no account of CPU time"), "{error}");
        fs::write(group.path().join("cpu.stat"), "usage_usec 2500000\nuser_usec 0\n").unwrap();
        let mut grouped = Service::group(group.path()).unwrap();
        assert_eq!((grouped.pids(), grouped.cpu_seconds()), (vec![shell.pid()], Some(2.5)));
        let pid = shell.pid();
        drop(shell);
        fs::write(group.path().join("cgroup.procs"), "").unwrap();
        for service in [&mut service, &mut grouped] {
            refresh_until(service, |service| !service.is_alive() && service.pids().is_empty());
        }
        assert!(Service::process(pid).is_err() && Service::group(Path::new("/nowhere")).is_err());
    }
}
