//! `env.json`: machine and settings of a trial, and the reasons for absent figures.

use crate::regime::Regime;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Machine, kernel and settings of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Env {
    pub brunt: String,
    /// 64-bit FNV-1a hash of the binary, in hexadecimal.
    pub binary_hash: Option<String>,
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
    /// Backend of the generator's runtime, with the reason if it is the fallback.
    pub backend: Option<String>,
    /// What CPU time contains on this machine; of experiments.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub regime: Option<Regime>,
    /// The reason for each absent figure, by its name (`server.rss_bytes`).
    pub absent: BTreeMap<String, String>,
}
