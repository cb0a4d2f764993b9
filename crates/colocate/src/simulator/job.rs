//! What BE jobs do to the machine.

use serde::{Deserialize, Serialize};

/// A kind of BE job, by what each of its cores uses.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Job {
    /// Share of the machine's memory bandwidth.
    pub memory_bandwidth: f64,
    /// Share of the last-level cache that it displaces.
    pub cache: f64,
}

/// Jobs of another kind that take turns with the first.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turns {
    pub other: Job,
    /// Length of a turn.
    pub seconds: f64,
    /// The controller takes them for one kind.
    pub is_one_kind: bool,
}

impl Turns {
    /// Whether it is the turn of the other kind.
    pub fn is_other(&self, seconds: f64) -> bool {
        (seconds / self.seconds) as u64 % 2 == 1
    }
}

impl Job {
    /// Computes in registers.
    pub const CPU: Self = Self { memory_bandwidth: 0.0, cache: 0.0 };
    /// Streams through the last-level cache.
    pub const CACHE: Self = Self { memory_bandwidth: 0.02, cache: 0.25 };
    /// Streams through memory.
    pub const MEMORY: Self = Self { memory_bandwidth: 0.16, cache: 0.02 };
}
