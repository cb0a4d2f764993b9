//! What is limited.

use serde::Serialize;
use std::fmt;

/// A resource that is limited.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Resource {
    /// Whether processes run at all.
    Freezer,
    /// CPU time: cores and quota.
    Cpu,
    /// Whether others go first: idle class or weight.
    Priority,
    Memory,
    /// Number of processes and threads.
    Processes,
    /// Bytes a second sent.
    Network,
    /// Bytes a second read and written.
    Disk,
    /// Last-level cache and memory bandwidth.
    Cache,
}

impl fmt::Display for Resource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Freezer => "freezer",
            Self::Cpu => "cpu",
            Self::Priority => "priority",
            Self::Memory => "memory",
            Self::Processes => "processes",
            Self::Network => "network",
            Self::Disk => "disk",
            Self::Cache => "cache",
        })
    }
}
