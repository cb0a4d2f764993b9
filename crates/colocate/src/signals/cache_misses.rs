//! Bytes between caches and memory, estimated by misses of the last-level cache: where hardware counters exist, and the bytes of a
//! miss were measured (`brunt colocate probe --memory`). Prefetches and write-backs are in that figure as far as a stream has them.

use crate::cgroup::Group;
use brunt_meter::counters::{self, Counters, Event};
use brunt_results::Cores;
use std::fs::{self, File};

#[derive(Debug)]
pub struct CacheMisses {
    counters: Counters,
    first: counters::Reading,
}

impl CacheMisses {
    /// Of everything on this machine.
    pub fn of_machine() -> Result<Self, String> {
        Self::count(None)
    }

    /// Of the processes of a group: of version 2, to which the kernel attaches counters where version 1 has none of its own.
    pub(super) fn of_group(group: &Group) -> Result<Self, String> {
        let dir = group.version_two().ok_or("no group of version 2")?;
        Self::count(Some(&File::open(dir).map_err(|error| format!("{}: {error}", dir.display()))?))
    }

    fn count(group: Option<&File>) -> Result<Self, String> {
        let online = "/sys/devices/system/cpu/online";
        let cores = fs::read_to_string(online).map_err(|error| format!("{online}: {error}"))?;
        let cores: Cores = cores.trim().parse().map_err(|error| format!("{online}: {error}"))?;
        let mut counters = Counters::attach_cores(&cores.0, group, &[Event::CacheMisses]);
        let first = counters.read();
        first.since(&first, Event::CacheMisses)?;
        Ok(Self { counters, first })
    }

    /// Since the begin.
    pub fn total(&mut self) -> Result<f64, String> {
        self.counters.read().since(&self.first, Event::CacheMisses)
    }
}
