//! Number of processes and threads of all jobs together: further forks fail.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::cgroup::Group;
use std::io;

#[derive(Debug)]
pub(super) struct Pids {
    most: Option<u64>,
    knob: Option<Knob>,
    missing: String,
}

impl Pids {
    pub(super) fn new(group: &Group, most: Option<u64>) -> Self {
        Self { most, knob: Knob::find(group, &["pids.max"]), missing: group.why_missing("pids") }
    }
}

impl Part for Pids {
    fn resource(&self) -> Resource {
        Resource::Processes
    }

    fn capability(&self) -> Capability {
        match &self.knob {
            Some(knob) => Capability::available(Resource::Processes, knob.shown()),
            None => {
                let consequence = "a job that forks without end can use up the process ids of the machine";
                Capability::missing(Resource::Processes, &*self.missing, consequence)
            }
        }
    }

    /// Set once: it does not depend on the allotment.
    fn apply(&mut self, _: &Allotment) -> io::Result<bool> {
        self.floor()
    }

    fn floor(&mut self) -> io::Result<bool> {
        let Some(knob) = &self.knob else { return Ok(false) };
        knob.set(&self.most.map_or("max".to_owned(), |most| most.to_string()))
    }
}
