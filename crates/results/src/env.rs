//! `env.json`: machine and settings of a trial, and the reasons for absent figures.

use crate::regime::Regime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;

/// Machine, kernel and settings of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Env {
    pub brunt: String,
    /// 64-bit FNV-1a hash of the build id of the binary, or of the binary if its linker gave it none; in hexadecimal.
    pub binary_hash: Option<String>,
    /// Hash of the source of each crate that serves, loads or meters, in hexadecimal, by the crate's folder.
    #[serde(default)]
    pub source_hashes: Option<BTreeMap<String, String>>,
    pub command: Vec<String>,
    /// Wall clock at the start, seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    pub kernel: Option<String>,
    pub cpu: Option<String>,
    /// Processors this process may run on.
    pub cpus_allowed: Option<String>,
    pub cpus_online: Option<u64>,
    pub memory_bytes: Option<u64>,
    /// Frequency governor of the first core.
    pub governor: Option<String>,
    /// Whether simultaneous multithreading is on.
    pub smt: Option<String>,
    pub clock_source: Option<String>,
    /// Soft and hard limit of open files.
    pub open_files: Option<(u64, u64)>,
    /// Kernel settings that affect results, by name.
    pub sysctls: BTreeMap<String, String>,
    /// CPU time stolen by the hypervisor during the measured window, in percent of all processors.
    pub steal_percent: Option<f64>,
    /// How the server's CPU time is read in a sliced experiment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpu_source: Option<String>,
    /// What the target did between its slices in a sliced experiment of several targets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle: Option<Idle>,
    /// Backend of the generator's runtime, with the reason if it is the fallback.
    pub backend: Option<String>,
    /// What CPU time contains on this machine; of experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// The reason for each absent figure, by its name (`server.rss_bytes`).
    pub absent: BTreeMap<String, String>,
}

/// Percent of a core above which a target that idles disturbs the others.
const BURNS_PERCENT: f64 = 0.5;
/// Percent of a core above which a target that idles spins.
const POLLS_PERCENT: f64 = 50.0;

/// A target that is up and has no requests.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Idle {
    /// Its CPU time meanwhile, in percent of a core.
    pub cpu_percent: f64,
    /// By what it was frozen between its slices, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frozen_by: Option<String>,
}

impl Idle {
    /// Given CPU time and length of the idle time; `None` without any.
    pub fn of(cpu: Duration, time: Duration) -> Option<Self> {
        let cpu_percent = 100.0 * cpu.as_secs_f64() / time.as_secs_f64();
        cpu_percent.is_finite().then_some(Self { cpu_percent, frozen_by: None })
    }

    /// Whether it takes CPU time from the slices of others and is to be frozen meanwhile.
    pub fn burns(&self) -> bool {
        self.cpu_percent > BURNS_PERCENT
    }

    /// Whether it spins: its CPU time a request is the core's time then, not a cost.
    pub fn polls(&self) -> bool {
        self.cpu_percent > POLLS_PERCENT
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spinning_is_told_from_idling() {
        let of = |cpu_us: u64| Idle::of(Duration::from_micros(cpu_us), Duration::from_millis(100)).unwrap();
        assert_eq!(Idle::of(Duration::ZERO, Duration::ZERO), None);
        for (cpu_us, burns, polls) in [(0, false, false), (400, false, false), (600, true, false), (99_000, true, true)]
        {
            assert_eq!((of(cpu_us).burns(), of(cpu_us).polls()), (burns, polls), "{cpu_us}");
        }
    }
}
