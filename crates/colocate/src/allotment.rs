//! What best-effort jobs may use.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Upper bounds on what all BE jobs use together. Without a bound on a resource they take what the LC service leaves.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Allotment {
    /// CPU time in cores: 0.5 is half of one core's time. 0 means frozen: no BE process runs at all.
    pub cores: f64,
    /// Bytes a second sent to the network.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network: Option<u64>,
    /// Share of the last-level cache, 0 to 1, where the processor can partition it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cache: Option<f64>,
}

impl Allotment {
    pub const FROZEN: Self = Self { cores: 0.0, network: None, cache: None };

    /// CPU time alone is bounded.
    pub fn cores(cores: f64) -> Self {
        Self { cores, ..Self::FROZEN }
    }

    pub fn is_frozen(self) -> bool {
        self.cores <= 0.0
    }
}

/// Bounds of every policy.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Bounds {
    /// CPU time of a group whose lease has ended, in cores; what BE jobs start with.
    pub floor: f64,
    /// Most CPU time of the BE jobs, in cores.
    pub ceiling: f64,
    /// Age at which data of the LC service are stale.
    pub deadline: Duration,
}

impl Bounds {
    /// With a deadline of a second.
    pub const fn new(floor: f64, ceiling: f64) -> Self {
        Self { floor, ceiling, deadline: Duration::from_secs(1) }
    }
}
