//! Memory of all jobs together, swap included: the kernel kills a process of the group that would exceed it.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::cgroup::Group;
use std::io;

#[derive(Debug)]
pub(super) struct Memory {
    limit: Option<u64>,
    memory: Option<Knob>,
    /// Swap alone in version 2, memory and swap in version 1.
    swap: Option<Knob>,
    missing: String,
}

impl Memory {
    pub(super) fn new(group: &Group, limit: Option<u64>) -> Self {
        let memory = Knob::find(group, &["memory.max", "memory.limit_in_bytes"]);
        let swap = Knob::find(group, &["memory.swap.max", "memory.memsw.limit_in_bytes"]);
        // The kernel rounds down to whole pages.
        let page = rustix::param::page_size() as u64;
        let limit = limit.map(|bytes| bytes / page * page);
        Self { limit, memory, swap, missing: group.why_missing("memory") }
    }
}

impl Part for Memory {
    fn resource(&self) -> Resource {
        Resource::Memory
    }

    fn capability(&self) -> Capability {
        match (&self.memory, &self.swap) {
            (None, _) => {
                let consequence = "memory of BE jobs is not limited: the kernel may have to kill the LC service";
                Capability::missing(Resource::Memory, &*self.missing, consequence)
            }
            (Some(_), _) if self.limit.is_none() => Capability::available(Resource::Memory, "no limit asked for"),
            (Some(knob), Some(_)) => Capability::available(Resource::Memory, knob.shown()),
            (Some(knob), None) => {
                Capability::available(Resource::Memory, knob.shown()).but("swap of BE jobs is not limited")
            }
        }
    }

    /// Set once: it does not depend on the allotment.
    fn apply(&mut self, _: &Allotment) -> io::Result<bool> {
        self.floor()
    }

    fn floor(&mut self) -> io::Result<bool> {
        let (Some(limit), Some(memory)) = (self.limit, &self.memory) else { return Ok(false) };
        let mut changed = memory.set(&limit.to_string())?;
        if let Some(swap) = &self.swap {
            let most = if swap.name() == "memory.swap.max" { 0 } else { limit };
            changed |= swap.set(&most.to_string())?;
        }
        Ok(changed)
    }
}
