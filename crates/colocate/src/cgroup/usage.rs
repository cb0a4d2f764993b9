//! What a group has used, as the kernel accounts for it.

use super::Group;
use brunt_meter::cgroup::entry;
use serde::Serialize;
use std::path::PathBuf;
use std::time::Duration;

/// Most bytes that the kernel charges to a group at a time, on all cores.
const CHARGE: u64 = 1 << 20;

/// Totals since the group was created, but for `memory` and `processes`, which are those of now. `None` where the kernel
/// does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Usage {
    pub cpu: Option<Duration>,
    /// Periods of the quota in which the group had runnable processes.
    pub periods: Option<u64>,
    /// Of these, periods in which it used up the quota.
    pub throttled_periods: Option<u64>,
    /// Sum over the cores of the time in which its processes waited for the next period.
    pub throttled: Option<Duration>,
    /// Bytes.
    pub memory: Option<u64>,
    pub processes: Option<u64>,
    /// Processes killed for a lack of memory.
    pub oom_kills: Option<u64>,
    pub pressure: Option<Pressure>,
}

/// Time in which at least one process of the group waited for the resource: `some` of pressure stall information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Pressure {
    pub cpu: Duration,
    pub memory: Duration,
    pub io: Duration,
}

impl Group {
    pub fn usage(&self) -> Usage {
        let stat = |key| self.entry("cpu.stat", key);
        let oom = || self.entry("memory.events", "oom_kill").or_else(|| self.entry("memory.oom_control", "oom_kill"));
        Usage {
            cpu: self.cpu(),
            periods: stat("nr_periods"),
            throttled_periods: stat("nr_throttled"),
            throttled: stat("throttled_usec")
                .map(Duration::from_micros)
                .or_else(|| stat("throttled_time").map(Duration::from_nanos)),
            memory: self.number(&["memory.current", "memory.usage_in_bytes"]),
            processes: self.number(&["pids.current"]),
            oom_kills: oom(),
            pressure: self.pressure(),
        }
    }

    /// CPU time since the group was created: cheaper than all of [`Self::usage`].
    pub fn cpu(&self) -> Option<Duration> {
        let one = || self.number(&["cpuacct.usage"]).map(Duration::from_nanos);
        self.entry("cpu.stat", "usage_usec").map(Duration::from_micros).or_else(one)
    }

    /// Where that is from.
    pub fn cpu_file(&self) -> Option<PathBuf> {
        let mut two = self.dirs.iter().rev().map(|dir| dir.join("cpu.stat"));
        let counts = |file: &PathBuf| self.files.read(file).is_ok_and(|text| text.contains("usage_usec "));
        two.find(counts).or_else(|| self.file(&["cpuacct.usage"]))
    }

    /// Whether its own limit on memory, in bytes, has been reached. Version 1 does not count that: its most usage is less by what the kernel
    /// charges at a time.
    pub fn has_reached(&self, memory: u64) -> bool {
        let most = self.number(&["memory.memsw.max_usage_in_bytes", "memory.max_usage_in_bytes"]);
        self.entry("memory.events", "oom") > Some(0) || most.is_some_and(|most| most + CHARGE >= memory)
    }

    pub fn pressure(&self) -> Option<Pressure> {
        let total = |file: &str| {
            // some avg10=0.00 avg60=0.00 avg300=0.00 total=4242
            let text = self.files.read(&self.file(&[file])?).ok()?;
            let some = text.lines().find_map(|line| line.strip_prefix("some "))?;
            let total = some.split(' ').find_map(|word| word.strip_prefix("total="))?;
            total.parse().ok().map(Duration::from_micros)
        };
        Some(Pressure { cpu: total("cpu.pressure")?, memory: total("memory.pressure")?, io: total("io.pressure")? })
    }

    fn number(&self, names: &[&str]) -> Option<u64> {
        self.files.read(&self.file(names)?).ok()?.trim().parse().ok()
    }

    /// A line `key number` of this file, in whichever directory has it; that of version 2, the last one, has most of them.
    fn entry(&self, name: &str, key: &str) -> Option<u64> {
        self.dirs.iter().rev().find_map(|dir| entry(&self.files.read(&dir.join(name)).ok()?, key))
    }
}
