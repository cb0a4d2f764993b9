//! Names of what is measured, and whether it can be measured here.

use serde::Serialize;
use std::fmt;

/// A signal besides the requests of the service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Signal {
    LostTime,
    RunDelay,
    Cpi,
    ServiceCpu,
    JobCpu,
    Pressure,
    JobPressure,
    MemoryBandwidth,
    ServiceNetwork,
    JobNetwork,
}

/// Whether a signal can be measured here.
pub type Capability = crate::capability::Capability<Signal>;

impl fmt::Display for Signal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LostTime => "lost-time",
            Self::RunDelay => "run-delay",
            Self::Cpi => "cpi",
            Self::ServiceCpu => "service-cpu",
            Self::JobCpu => "job-cpu",
            Self::Pressure => "pressure",
            Self::JobPressure => "job-pressure",
            Self::MemoryBandwidth => "memory-bandwidth",
            Self::ServiceNetwork => "service-network",
            Self::JobNetwork => "job-network",
        })
    }
}
