//! What stands behind a server: the processes of this machine that it is connected to as a client, and those that these are
//! connected to in turn, as a proxy to its backend or an application to its database.
//!
//! They are looked for before the load, while it goes on, and at its end. One that is found late is metered from the opening of the
//! window all the same, since the account of every process at that moment is kept.

use crate::called::{self, Clients, Listeners};
use crate::cgroup::Group;
use crate::everyone::Everyone;
use crate::process::Tree;
use crate::sampling_budget::SamplingBudget;
use crate::{listener, network, proc};
use brunt_results::result::Upstream;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Most processes one behind the other.
const DEPTH: usize = 8;
/// Listings of a look that finds nothing new while there are connections to listeners that are no parts.
pub(crate) const LISTINGS: usize = 3;

/// What is taken for a part of the service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Scope {
    /// Nothing but the listener, `also` and `also_groups`.
    pub only_listener: bool,
    /// Names of processes that are none of it, as that of a shared database.
    pub without: Vec<String>,
    /// Processes that are parts of it, connected or not.
    pub also: Vec<u32>,
    /// Control groups that are parts of it, connected or not.
    pub also_groups: Vec<Group>,
}

#[derive(Debug, Default)]
pub(crate) struct Service {
    scope: Scope,
    parts: Vec<Part>,
    /// Listeners that need no other look: those of the server itself, of parts, and those that cannot be seen, with the reason.
    known: BTreeMap<String, Option<String>>,
    budget: SamplingBudget,
    opened: Option<Arc<Everyone>>,
}

/// A process tree behind the server.
#[derive(Debug)]
struct Part {
    roots: Vec<u32>,
    name: String,
    addresses: BTreeSet<String>,
    /// It is what is in this group.
    group: Option<Group>,
    tree: Tree,
    /// Connections of the service, and all.
    connections: [u64; 2],
    /// In the window, once it has ended.
    used: Option<UsedUp>,
}

#[derive(Debug, Clone, Copy)]
struct UsedUp {
    nanos: u64,
    wall: Duration,
    rss_bytes: u64,
}

/// The processes behind a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Found {
    /// Those from which all of them descend.
    pub roots: Vec<u32>,
    /// Name and first process of each part.
    pub parts: Vec<(String, u32)>,
    /// What it is connected to and what cannot be metered, with the reason.
    pub unseen: Vec<String>,
}

impl Service {
    /// The error names what is in the scope and cannot be metered. `server`: the processes of the listener.
    pub(crate) fn new(scope: Scope, server: &[u32]) -> Result<Self, String> {
        let process = |pid: &u32| Ok(Part::new(vec![*pid], None, Tree::new(&[*pid])?));
        let group = |group: &Group| Part::of_group(group, server);
        let parts = scope.also.iter().map(process).chain(scope.also_groups.iter().map(group));
        let parts = parts.collect::<Result<_, String>>()?;
        Ok(Self { parts, scope, ..Self::default() })
    }

    /// Looks again, unless that would cost too much CPU time. `server`: the processes of the listener.
    pub(crate) fn look(&mut self, server: &[u32]) {
        let mut budget = std::mem::take(&mut self.budget);
        budget.take(|| {
            self.look_now(server, LISTINGS);
            self.count(server);
        });
        self.budget = budget;
    }

    /// Looks, with so many listings at most where one finds nothing.
    pub(crate) fn look_now(&mut self, server: &[u32], listings: usize) {
        self.look_among(server, listings, called::listeners);
    }

    /// Looks for Unix sockets alone. A connection for one request lasts less than a millisecond there; this is cheap enough to be
    /// made that often.
    pub(crate) fn look_at_unix_sockets(&mut self, server: &[u32]) {
        self.look_among(server, 1, called::unix_listeners);
    }

    fn look_among(&mut self, server: &[u32], listings: usize, list: fn() -> Result<Listeners, String>) {
        self.parts.iter_mut().for_each(Part::join_group);
        if self.scope.only_listener {
            return;
        }
        self.forget_ended();
        let mut callers: Vec<u32> = server.iter().copied().chain(self.pids()).collect();
        for _ in 0..DEPTH {
            // What is not listed now may be later.
            let Ok(called) = self.called_by(&callers, listings, list) else { return };
            callers = called.iter().flat_map(|(address, clients)| self.add(address, clients, server)).collect();
            if callers.is_empty() {
                break;
            }
        }
    }

    /// The listeners, as far as they are not known, that one of `callers` is connected to. Lists again where there are connections to
    /// such a listener: one for a single request may have gone before the sockets of the callers were listed.
    fn called_by(
        &self,
        callers: &[u32],
        listings: usize,
        list: fn() -> Result<Listeners, String>,
    ) -> Result<Listeners, String> {
        for _ in 0..listings {
            // Before and after: neither what closes nor what opens meanwhile is missed.
            let mut held = network::sockets_of(callers)?;
            let mut unknown = list()?;
            held.append(&mut network::sockets_of(callers)?);
            unknown.retain(|address, clients| !self.known.contains_key(address) && !clients.inodes.is_empty());
            let (called, others): (Listeners, Listeners) =
                unknown.into_iter().partition(|(_, clients)| !clients.inodes.is_disjoint(&held));
            if !called.is_empty() {
                return Ok(called);
            }
            // Clients of the callers themselves are none of theirs.
            let mut others = others.into_values();
            if !others.any(|clients| !clients.is_elsewhere && clients.accepted.is_disjoint(&held)) {
                break;
            }
        }
        Ok(Listeners::new())
    }

    /// The address of a part that has ended may have a successor.
    fn forget_ended(&mut self) {
        for part in &mut self.parts {
            let is_gone = !part.tree.sample_members().alive;
            self.known.retain(|address, _| !is_gone || !part.addresses.contains(address));
        }
    }

    /// Adds what listens on the address; returns its processes, if they are new.
    fn add(&mut self, address: &str, clients: &Clients, server: &[u32]) -> Vec<u32> {
        let found = match clients.is_elsewhere {
            true => Err(format!("{address} is on another machine, or in another network namespace")),
            false => listener::find(address),
        };
        self.known.insert(address.to_owned(), found.as_ref().err().cloned());
        let Ok(found) = found else { return Vec::new() };
        if let Some(part) =
            self.parts.iter_mut().find(|part| part.tree.pids().iter().any(|pid| found.pids.contains(pid)))
        {
            part.addresses.insert(address.to_owned());
            return Vec::new();
        }
        // A supervisor of the server, which it reports to, has the server in its tree.
        let now = Everyone::take();
        let is_above = |root: &u32| server.iter().any(|pid| now.lineage(*pid).any(|above| above == *root));
        let own = std::process::id();
        if found.pids.iter().any(|pid| server.contains(pid) || *pid == own) || found.roots.iter().any(is_above) {
            return Vec::new();
        }
        let Ok(tree) = Tree::new(&found.roots) else { return Vec::new() };
        let part = Part::new(found.roots, Some(address), tree);
        if self.scope.without.contains(&part.name) {
            return Vec::new();
        }
        let pids = part.tree.pids();
        self.parts.push(part);
        pids
    }

    /// Counts the connections to each part: those of the service, and all.
    fn count(&mut self, server: &[u32]) {
        if self.parts.iter().all(|part| part.addresses.is_empty()) {
            return;
        }
        let all: Vec<u32> = self.parts.iter().flat_map(|part| part.tree.pids()).chain(server.iter().copied()).collect();
        let (Ok(listeners), Ok(held)) = (called::listeners(), network::sockets_of(&all)) else { return };
        for part in &mut self.parts {
            let to_it = || part.addresses.iter().filter_map(|address| listeners.get(address));
            let of_service = to_it().map(|clients| clients.inodes.intersection(&held).count() as u64).sum();
            part.connections =
                [of_service, to_it().map(|clients| clients.accepted.len() as u64).sum::<u64>().max(of_service)];
        }
    }

    /// Opens the window. `everyone`: the account of all processes at this moment.
    pub(crate) fn open(&mut self, everyone: Arc<Everyone>) {
        self.parts.iter_mut().for_each(|part| part.used = None);
        self.opened = Some(everyone);
    }

    /// Ends the window now, and looks a last time.
    pub(crate) fn stop(&mut self, server: &[u32]) {
        let Some(opened) = self.opened.take() else { return };
        self.parts.iter_mut().for_each(|part| part.stop(&opened));
        self.look_now(server, LISTINGS);
        self.count(server);
        self.parts.iter_mut().for_each(|part| part.stop(&opened));
    }

    /// What each part used in the window, and for each of `completed` requests.
    pub(crate) fn upstreams(&self, completed: u64) -> Vec<Upstream> {
        let mut parts: Vec<Upstream> = Vec::new();
        for part in &self.parts {
            let Some(UsedUp { nanos, wall, rss_bytes }) = part.used else { continue };
            let share = nanos as f64 / wall.as_nanos().max(1) as f64;
            let mut one = Upstream {
                name: part.name.clone(),
                pid: part.roots.first().copied().unwrap_or_default(),
                addresses: part.addresses.iter().cloned().collect(),
                cpu_percent: share * 100.0,
                cpu_us_per_request: (completed > 0).then(|| nanos as f64 / 1e3 / completed as f64),
                rss_bytes,
                connections: part.connections[0],
                other_connections: part.connections[1] - part.connections[0],
            };
            // A restarted one is one part.
            match parts.iter_mut().find(|before| before.name == one.name && before.addresses == one.addresses) {
                Some(before) => {
                    one.add_usage(before);
                    *before = one;
                }
                None => parts.push(one),
            }
        }
        parts
    }

    /// The parts so far.
    pub(crate) fn found(&self) -> Found {
        let living = || self.parts.iter().filter(|part| part.tree.is_alive());
        Found {
            roots: living().flat_map(|part| part.roots.clone()).collect(),
            parts: living().filter_map(|part| Some((part.name.clone(), *part.roots.first()?))).collect(),
            unseen: self.unseen(),
        }
    }

    /// Processes of all parts.
    pub(crate) fn pids(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| part.tree.pids())
    }

    /// Why listeners that the server is connected to are left out, if some are.
    pub(crate) fn unseen(&self) -> Vec<String> {
        self.known.values().flatten().cloned().collect()
    }
}

impl Part {
    fn new(roots: Vec<u32>, address: Option<&str>, tree: Tree) -> Self {
        let name = roots.first().and_then(|pid| proc::name_of(*pid)).unwrap_or_default();
        let addresses = address.map(str::to_owned).into_iter().collect();
        Self { roots, name, addresses, group: None, tree, connections: [0; 2], used: None }
    }

    /// All that is in a group, which must not be the server itself.
    fn of_group(group: &Group, server: &[u32]) -> Result<Self, String> {
        let roots = group.pids();
        if roots.is_empty() {
            return Err(format!("no process is in control group {}", group.name()));
        }
        if let Some(pid) = roots.iter().find(|pid| server.contains(pid)) {
            return Err(format!("process {pid} of control group {} is the server itself", group.name()));
        }
        let tree = Tree::observe(&roots);
        Ok(Self { name: group.name().to_owned(), group: Some(group.clone()), ..Self::new(roots, None, tree) })
    }

    /// Adds what has come into its group.
    fn join_group(&mut self) {
        if let Some(group) = &self.group {
            self.roots.extend(self.tree.add(&group.pids()));
        }
    }

    /// Reads what it has used, if that is not known yet.
    fn stop(&mut self, opened: &Everyone) {
        if self.used.is_some() {
            return;
        }
        self.join_group();
        let last = self.tree.sample();
        let members: Vec<u32> = self.tree.pids().into_iter().chain(self.roots.iter().copied()).collect();
        let nanos = last.used().minus(opened.trees(&members)).nanos;
        self.used = Some(UsedUp { nanos, wall: last.at.duration_since(opened.at), rss_bytes: last.rss_bytes });
    }
}
