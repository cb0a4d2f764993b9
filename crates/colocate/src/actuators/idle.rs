//! Priority of BE jobs for cores: they run in the idle class, or have the least weight where a kernel has no such class for groups.

use super::{Capability, Part, Resource, knob::Knob};
use crate::allotment::Allotment;
use crate::cgroup::Group;
use std::io;

#[derive(Debug)]
pub(super) struct Idle {
    knob: Option<Knob>,
    wanted: bool,
    missing: String,
}

impl Idle {
    pub(super) fn new(group: &Group, wanted: bool) -> Self {
        let knob = Knob::find(group, &["cpu.idle", "cpu.weight", "cpu.shares"]);
        Self { knob, wanted, missing: group.why_missing("cpu") }
    }
}

impl Part for Idle {
    fn resource(&self) -> Resource {
        Resource::Priority
    }

    fn capability(&self) -> Capability {
        let Some(knob) = &self.knob else {
            let consequence = "BE jobs compete with the LC service for cores as equals";
            return Capability::missing(Resource::Priority, &*self.missing, consequence);
        };
        match knob.name() {
            _ if !self.wanted => Capability::available(Resource::Priority, "not asked for"),
            "cpu.idle" => Capability::available(Resource::Priority, knob.shown()),
            _ => Capability::available(Resource::Priority, knob.shown())
                .but("BE jobs have the least weight instead of the idle class: a waking thread of the LC service may wait longer"),
        }
    }

    /// Set once: it does not depend on the allotment.
    fn apply(&mut self, _: &Allotment) -> io::Result<bool> {
        self.floor()
    }

    fn floor(&mut self) -> io::Result<bool> {
        let Some(knob) = &self.knob else { return Ok(false) };
        match (knob.name(), self.wanted) {
            ("cpu.idle", wanted) => knob.set(if wanted { "1" } else { "0" }),
            ("cpu.weight", true) => knob.set("1"),
            (_, true) => knob.set("2"),
            (_, false) => Ok(false),
        }
    }
}
