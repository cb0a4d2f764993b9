//! What a server has served.

use serde::{Deserialize, Serialize};
use std::ops::AddAssign;

/// Totals of a server's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that ended in an error, resets by the peer aside.
    pub failed: u64,
    /// Connections still open when the grace time was over, and closed then.
    pub cut: u64,
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.failed += other.failed;
        self.cut += other.cut;
    }
}
