//! `limits` of a target.

use brunt_results::{Count, Size};
use serde::{Deserialize, Serialize};

/// Limits of a process; an absent one is inherited from brunt.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Limits {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nofile: Option<Count>,
    /// Memory of the target and its children; without control groups the address space of each process.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memlock: Option<Size>,
}

impl Limits {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
