//! `limits` of a target.

use brunt_results::{Count, Size};
use serde::{Deserialize, Serialize};

/// Limits of a process; absent is what brunt itself has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    /// Open files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nofile: Option<Count>,
    /// Memory of the target and its children; address space of each where that cannot be bound.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Locked memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memlock: Option<Size>,
}

impl Limits {
    /// Whether nothing is limited.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
