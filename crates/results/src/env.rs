//! `env.json`: the circumstances of a trial, and why any figure is missing.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The circumstances of a trial. Collected by `meter`, kept beside `result.json`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Env {
    /// Version of brunt.
    pub brunt: String,
    /// Identity of the binary: a 64-bit FNV-1a hash of its bytes, in hexadecimal.
    pub binary_hash: Option<String>,
    /// The command line as typed.
    pub command: Vec<String>,
    /// Wall clock at the start, seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// Kernel release and version.
    pub kernel: Option<String>,
    /// Processor model.
    pub cpu: Option<String>,
    /// Processors this process may run on.
    pub cpus_allowed: Option<String>,
    /// Processors online.
    pub cpus_online: Option<u64>,
    /// Memory of the machine, bytes.
    pub memory_bytes: Option<u64>,
    /// Frequency governor of the first core.
    pub governor: Option<String>,
    /// Whether simultaneous multithreading is on.
    pub smt: Option<String>,
    /// Clock source of the kernel.
    pub clock_source: Option<String>,
    /// Soft and hard limit of open files.
    pub open_files: Option<(u64, u64)>,
    /// Kernel settings that change results, by name.
    pub sysctls: BTreeMap<String, String>,
    /// CPU time stolen by the hypervisor during the measured window, percent of all processors.
    pub steal_percent: Option<f64>,
    /// Which backend the generator's runtime chose, and why if it was the fallback.
    pub backend: Option<String>,
    /// Name of a missing figure, and why it could not be had.
    pub absent: BTreeMap<String, String>,
}
