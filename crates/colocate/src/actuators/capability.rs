//! What can be limited on a machine.

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

/// Whether a resource can be limited here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    pub resource: Resource,
    pub available: bool,
    /// The control file in use, or why there is none.
    pub evidence: String,
    /// What follows for BE jobs or the LC service, where the resource is not limited or only in part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consequence: Option<String>,
}

impl Capability {
    pub fn available(resource: Resource, evidence: impl Into<String>) -> Self {
        Self { resource, available: true, evidence: evidence.into(), consequence: None }
    }

    pub fn missing(resource: Resource, evidence: impl Into<String>, consequence: &str) -> Self {
        Self { resource, available: false, evidence: evidence.into(), consequence: Some(consequence.to_owned()) }
    }

    pub fn but(self, consequence: &str) -> Self {
        Self { consequence: Some(consequence.to_owned()), ..self }
    }
}
