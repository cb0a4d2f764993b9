//! Puts allotments into effect: one part for each resource, on the control group of the BE jobs.
//!
//! Invariants:
//! - A group is at the floor before its first process: idle class, floor quota, limits of memory and processes.
//! - Applying is idempotent, and what was written is read back.
//! - A resource that cannot be set goes to its floor; if that fails too, the group is frozen, and killed if it cannot be
//!   frozen. Each is a [`Fault`].

mod cpu;
mod disk;
mod freezer;
mod idle;
mod job;
mod knob;
mod memory;
mod network;
mod pids;
mod resctrl;
mod resource;

pub use disk::DiskLimit;
pub use network::NetworkLimit;
pub(crate) use resctrl::ROOT as RESCTRL;
pub use resource::Resource;

use crate::allotment::Allotment;
use crate::cgroup::{Group, JobGroup};
use crate::clock;
use crate::journal::Journal;
use brunt_meter::cgroup::{Files, hierarchies};
use freezer::{Freezer, Frozen};
use std::fmt::Debug;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Timeout for killed processes to be gone.
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// What the group of the BE jobs gets when it is created.
#[derive(Debug, Clone)]
pub struct Settings {
    /// The cores of BE jobs, in the order in which they are given to them.
    pub cores: Vec<usize>,
    /// CPU time without a lease, in cores.
    pub floor: f64,
    /// Whether BE jobs are of the idle class: they run where no other process is runnable.
    pub idle: bool,
    /// Most memory of all jobs, in bytes.
    pub memory: Option<u64>,
    /// Most processes and threads of all jobs.
    pub processes: Option<u64>,
    pub network: Option<NetworkLimit>,
    pub disk: Option<DiskLimit>,
}

impl Settings {
    pub fn new(cores: Vec<usize>, floor: f64) -> Self {
        Self { cores, floor, idle: true, memory: None, processes: Some(1024), network: None, disk: None }
    }
}

/// Whether a resource can be limited here.
pub type Capability = crate::capability::Capability<Resource>;

/// One resource of the group.
trait Part: Debug + Send {
    fn resource(&self) -> Resource;
    fn capability(&self) -> Capability;
    /// True if anything was written.
    fn apply(&mut self, allotment: &Allotment) -> io::Result<bool>;
    /// What holds without a lease.
    fn floor(&mut self) -> io::Result<bool>;
}

/// Whether there are such a disk and such interfaces, and none of them is limited already. Nothing is changed.
///
/// # Errors
/// One is not there or is limited already.
pub fn check(disk: Option<&DiskLimit>, network: Option<&NetworkLimit>) -> io::Result<()> {
    disk.map_or(Ok(()), |limit| disk::device(limit).map(drop))?;
    network.map_or(Ok(()), |limit| limit.interfaces.iter().try_for_each(|interface| network::check(interface)))
}

/// The group of the BE jobs with its resources.
#[derive(Debug)]
pub struct Actuators {
    group: Group,
    freezer: Freezer,
    parts: Vec<Box<dyn Part>>,
    /// Directories that are no control groups, for processes to enter.
    others: Vec<PathBuf>,
}

/// What [`Actuators::apply`] did.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Applied {
    /// Resources with another value than before, with the time that it took to set and check them.
    pub changed: Vec<(Resource, Duration)>,
    pub faults: Vec<Fault>,
    /// Some process has yet to stop: apply the same again.
    pub is_freezing: bool,
    /// From the call until all of it was in effect.
    pub took: Duration,
}

/// A resource that could not be set.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub resource: Resource,
    pub error: String,
    pub instead: Instead,
}

/// What a group got instead of what it was to get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Instead {
    /// The resource is at its floor.
    Floor,
    /// The group is frozen.
    Frozen,
    /// Its processes were killed.
    Killed,
    /// Nothing: its processes run with what they have.
    Nothing,
}

impl Actuators {
    /// Creates the group on this machine, at the floor. Every change is in the journal first: undo it, also after an error.
    pub fn open(files: Arc<dyn Files>, settings: &Settings, journal: &mut Journal) -> io::Result<Self> {
        let network = settings.network.as_ref().map(|limit| network::prepare(&*files, limit, journal)).transpose()?;
        let hierarchies = network::usable(hierarchies(), journal);
        let group = Group::create(files.clone(), &hierarchies, network.is_some(), journal)?;
        let resctrl = resctrl::Resctrl::create(Path::new(resctrl::ROOT), &files, &group.name(), journal);
        Self::around(group, settings, network, resctrl)
    }

    /// The same on other files, without network and cache.
    #[cfg(test)]
    pub(crate) fn on(
        files: Arc<dyn Files>,
        hierarchies: &[brunt_meter::cgroup::Hierarchy],
        settings: &Settings,
        journal: &mut Journal,
    ) -> io::Result<Self> {
        let group = Group::create(files.clone(), hierarchies, false, journal)?;
        let resctrl = resctrl::Resctrl::create(Path::new("no-resctrl"), &files, &group.name(), journal);
        Self::around(group, settings, None, resctrl)
    }

    fn around(
        group: Group,
        settings: &Settings,
        network: Option<network::Prepared>,
        resctrl: resctrl::Resctrl,
    ) -> io::Result<Self> {
        let others = resctrl.dir().into_iter().collect();
        let mut parts: Vec<Box<dyn Part>> = vec![
            Box::new(cpu::Cpu::new(&group, &settings.cores, settings.floor)),
            Box::new(idle::Idle::new(&group, settings.idle)),
            Box::new(memory::Memory::new(&group, settings.memory)),
            Box::new(pids::Pids::new(&group, settings.processes)),
            Box::new(disk::Disk::new(&group, settings.disk.as_ref())),
            Box::new(resctrl),
        ];
        if let Some(prepared) = network {
            parts.push(Box::new(network::Network::new(&group, prepared)?));
        }
        let mut actuators = Self { freezer: Freezer::new(&group), group, parts, others };
        let faults = actuators.floor().faults;
        if let Some(fault) = faults.first() {
            let error = format!("{} cannot be set to its floor: {}", fault.resource, fault.error);
            actuators.group.remove()?;
            return Err(io::Error::other(error));
        }
        Ok(actuators)
    }

    /// What can be limited on this machine, with evidence, and what follows where it cannot.
    pub fn capabilities(&self) -> Vec<Capability> {
        let parts = self.parts.iter().map(|part| part.capability());
        std::iter::once(self.freezer.capability()).chain(parts).collect()
    }

    pub fn group(&self) -> &Group {
        &self.group
    }

    /// Sets the limits with which the group of a job was made, besides the limits of all.
    pub fn limit_job(job: &JobGroup, of_all: &Group) -> io::Result<()> {
        job::limit(job.own(), of_all, job.limits())
    }

    /// What a process must enter to be in the group without being a job of its own.
    pub fn dirs(&self) -> Vec<PathBuf> {
        [self.group.dirs(), &self.others].concat()
    }

    /// The directories of resctrl to enter besides those of a job's group.
    pub fn other_dirs(&self) -> &[PathBuf] {
        &self.others
    }

    /// Puts an allotment into effect. Also after another process froze the group, as the guardian does.
    pub fn apply(&mut self, allotment: Allotment) -> Applied {
        self.put(allotment.is_frozen(), |part| part.apply(&allotment))
    }

    /// Puts every resource to what it is without a lease.
    pub fn floor(&mut self) -> Applied {
        self.put(false, |part| part.floor())
    }

    fn put(&mut self, frozen: bool, set: impl FnMut(&mut dyn Part) -> io::Result<bool>) -> Applied {
        let since = clock::now();
        let mut applied = Applied::default();
        // Freezing alone is quicker, and the rest is set before the group is thawed.
        if frozen || self.each(&mut applied, set) {
            self.freeze_into(&mut applied);
        } else {
            self.thaw_into(&mut applied);
        }
        applied.took = clock::since(since);
        applied
    }

    /// Kills all processes of the group; it can be used further.
    pub fn kill(&mut self) -> Applied {
        let since = clock::now();
        let mut applied = Applied::default();
        if let Err(error) = self.group.kill(KILL_TIMEOUT) {
            let error = error.to_string();
            applied.faults.push(Fault { resource: Resource::Freezer, error, instead: Instead::Nothing });
        }
        // Killing limits the number of processes to 0.
        self.each(&mut applied, |part| part.floor());
        applied.took = clock::since(since);
        applied
    }

    /// True if a resource could be set neither as wanted nor to its floor.
    fn each(&mut self, applied: &mut Applied, mut set: impl FnMut(&mut dyn Part) -> io::Result<bool>) -> bool {
        let mut must_freeze = false;
        for part in &mut self.parts {
            let since = clock::now();
            let resource = part.resource();
            match set(&mut **part) {
                Ok(true) => applied.changed.push((resource, clock::since(since))),
                Ok(false) => (),
                Err(error) => {
                    let floor = part.floor();
                    must_freeze |= floor.is_err();
                    let instead = if floor.is_ok() { Instead::Floor } else { Instead::Frozen };
                    applied.faults.push(Fault { resource, error: error.to_string(), instead });
                }
            }
        }
        must_freeze
    }

    fn thaw_into(&mut self, applied: &mut Applied) {
        let since = clock::now();
        match self.freezer.thaw() {
            Ok(true) => applied.changed.push((Resource::Freezer, clock::since(since))),
            Ok(false) => (),
            // Frozen is safe.
            Err(error) => {
                let error = error.to_string();
                applied.faults.push(Fault { resource: Resource::Freezer, error, instead: Instead::Frozen });
            }
        }
    }

    fn freeze_into(&mut self, applied: &mut Applied) {
        let since = clock::now();
        let error = match self.freezer.freeze() {
            Ok(frozen) => {
                applied.is_freezing = frozen == Frozen::NotYet;
                applied.changed.extend((frozen == Frozen::Now).then_some((Resource::Freezer, clock::since(since))));
                return;
            }
            Err(error) => error,
        };
        let instead = match error {
            freezer::Error::Slow(_) => Instead::Nothing,
            freezer::Error::Refused(_) => match self.group.kill(KILL_TIMEOUT) {
                Ok(()) => Instead::Killed,
                Err(_) => Instead::Nothing,
            },
        };
        applied.faults.push(Fault { resource: Resource::Freezer, error: error.to_string(), instead });
    }
}

#[cfg(test)]
mod tests;
