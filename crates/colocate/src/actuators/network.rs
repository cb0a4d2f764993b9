//! Bytes a second that BE jobs send: a class of HTB on the interfaces that the user names.
//!
//! The control group gives packets of BE jobs a priority (controller `net_prio`) which is the number of their class. All other
//! packets have no class and pass as they would without HTB.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::cgroup::Group;
use crate::journal::{Change, Journal};
use crate::tc::{self, Root};
use brunt_meter::cgroup::{Files, Hierarchy, Version, hierarchies};
use std::io;
use std::path::{Path, PathBuf};

/// Class of BE jobs; the number is what a packet's priority is compared with.
const CLASS: &str = "b7c0:2";
const PRIORITY: u32 = 0xb7c0_0002;
/// The kernel's range of rates is wider; below a packet in a few seconds connections end.
const LEAST_RATE: u64 = 1_000;
/// For no limit: more than any interface.
const MOST_RATE: u64 = 100_000_000_000;

/// Of the directory that it is mounted on.
const EXTENSION: &str = "net_prio";

/// A limit of what BE jobs send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkLimit {
    /// Interfaces that the jobs send through.
    pub interfaces: Vec<String>,
    /// Bytes a second without a lease, on each.
    pub floor: u64,
}

/// The disciplines are there; the group is not yet.
#[derive(Debug)]
pub(super) struct Prepared {
    limit: NetworkLimit,
    /// Why the priority of packets cannot be set here, if so.
    missing: Option<String>,
}

#[derive(Debug)]
pub(super) struct Network {
    interfaces: Vec<String>,
    floor: u64,
    /// Bytes a second in effect.
    rate: Option<u64>,
    missing: Option<String>,
    map: Option<Knob>,
}

/// Call it before the group is created: it may mount the hierarchy of `net_prio`.
pub(super) fn prepare(files: &dyn Files, limit: &NetworkLimit, journal: &mut Journal) -> io::Result<Prepared> {
    let limit = limit.clone();
    for interface in &limit.interfaces {
        check(interface)?;
    }
    let is_shared = |one: &Hierarchy| one.version == Version::One && one.may_have("net_prio") && !is_mounted_here(one);
    if !hierarchies().iter().any(is_shared)
        && let Err(error) = mount(files, journal)
    {
        let missing = Some(format!("net_prio cannot be mounted: {error}"));
        return Ok(Prepared { limit, missing });
    }
    for interface in &limit.interfaces {
        journal.record(Change::Qdisc { interface: interface.clone() })?;
        tc::run(&["qdisc", "add", "dev", interface, "root", "handle", tc::HANDLE, "htb"])?;
        class("add", interface, limit.floor)?;
    }
    Ok(Prepared { limit, missing: None })
}

/// Hierarchies with which a group may be made: without those that other controllers mounted and will unmount.
pub(super) fn usable(all: Vec<Hierarchy>, journal: &Journal) -> Vec<Hierarchy> {
    let own = place(journal);
    all.into_iter().filter(|one| !is_mounted_here(one) || one.root == own).collect()
}

/// Where the hierarchy of `net_prio` is mounted if the machine has it nowhere.
fn place(journal: &Journal) -> PathBuf {
    journal.path().with_extension(EXTENSION)
}

fn is_mounted_here(hierarchy: &Hierarchy) -> bool {
    hierarchy.root.extension().is_some_and(|extension| extension == EXTENSION)
}

pub(super) fn check(interface: &str) -> io::Result<()> {
    let is_name = !interface.is_empty() && !interface.contains('/') && !interface.starts_with('.');
    if !is_name || !Path::new("/sys/class/net").join(interface).exists() {
        return Err(io::Error::other(format!("interface '{interface}': there is none; ip link lists them")));
    }
    match tc::root(interface)? {
        Root::Default => Ok(()),
        Root::Ours => Err(io::Error::other(format!(
            "interface {interface}: limited by another run; if that has ended, undo it by brunt colocate recover"
        ))),
        Root::Foreign(line) => Err(io::Error::other(format!(
            "interface {interface}: has a queueing discipline already ({line}): remove it, or leave the interface out"
        ))),
    }
}

fn mount(files: &dyn Files, journal: &mut Journal) -> io::Result<()> {
    let dir = place(journal);
    journal.record(Change::Mount(dir.clone()))?;
    files.create_dir(&dir)?;
    rustix::mount::mount("none", &dir, "cgroup", rustix::mount::MountFlags::empty(), c"net_prio")?;
    Ok(())
}

fn class(verb: &str, interface: &str, rate: u64) -> io::Result<()> {
    // `bps` are bytes a second for tc.
    let rate = format!("{}bps", rate.clamp(LEAST_RATE, MOST_RATE));
    let words = ["class", verb, "dev", interface, "parent", tc::HANDLE, "classid", CLASS];
    tc::run(&[&words[..], &["htb", "rate", &rate, "ceil", &rate, "quantum", "3028"]].concat()).map(drop)
}

impl Network {
    pub(super) fn new(group: &Group, prepared: Prepared) -> io::Result<Self> {
        let Prepared { limit: NetworkLimit { interfaces, floor }, mut missing } = prepared;
        let map = Knob::find(group, &["net_prio.ifpriomap"]);
        if map.is_none() && missing.is_none() {
            missing = Some(group.why_missing("net_prio"));
        }
        for interface in &interfaces {
            let line = format!("{interface} {PRIORITY}");
            map.as_ref()
                .map_or(Ok(false), |map| map.set_until(&line, |shown| shown.lines().any(|found| found == line)))?;
        }
        Ok(Self { interfaces, floor, rate: None, missing, map })
    }

    fn set(&mut self, rate: u64) -> io::Result<bool> {
        if self.missing.is_some() || self.rate == Some(rate) {
            return Ok(false);
        }
        self.rate = None;
        self.interfaces.iter().try_for_each(|interface| class("change", interface, rate))?;
        self.rate = Some(rate);
        Ok(true)
    }
}

impl Part for Network {
    fn resource(&self) -> Resource {
        Resource::Network
    }

    fn capability(&self) -> Capability {
        match (&self.missing, &self.map) {
            (None, Some(map)) => {
                let evidence = format!("class {CLASS} of HTB on {}, {}", self.interfaces.join(", "), map.shown());
                Capability::available(Resource::Network, evidence).but("what BE jobs receive is not limited")
            }
            (missing, _) => {
                let why = missing.clone().unwrap_or_default();
                Capability::missing(Resource::Network, why, "what BE jobs send is not limited")
            }
        }
    }

    fn apply(&mut self, allotment: &Allotment) -> io::Result<bool> {
        self.set(allotment.network.unwrap_or(MOST_RATE))
    }

    fn floor(&mut self) -> io::Result<bool> {
        self.set(self.floor)
    }
}
