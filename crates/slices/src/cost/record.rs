//! A line of `slices.jsonl` of a measurement of cost: a slice, its rate, and the time between two readings of CPU time.

use crate::record::{Slice, line, lines};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A slice at a rate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CostSlice {
    /// Offered requests a second.
    pub rate: f64,
    /// Time between the two readings of the target's CPU time: the slice and the gap before it.
    pub span_us: f64,
    /// CPU time of what listens alone, where something stands behind it, in microseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub front_cpu_us: Option<f64>,
    /// Whether it followed a slice of the same target and rate at once. Both show what twice the length changes; it is in no point.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub second: bool,
    #[serde(flatten)]
    pub slice: Slice,
}

impl CostSlice {
    /// Replies a second between the two readings.
    pub fn replies_per_s(&self) -> f64 {
        self.slice.replies as f64 / self.span_us * 1e6
    }

    /// CPU time of the target in microseconds a second.
    pub fn cpu_us_per_s(&self) -> Option<f64> {
        let cpu = self.slice.server_cpu_us? / self.span_us * 1e6;
        cpu.is_finite().then_some(cpu)
    }

    /// The same of what listens alone, where something stands behind it.
    pub fn front_us_per_s(&self) -> Option<f64> {
        Some(self.front_cpu_us? / self.span_us * 1e6).filter(|cpu| cpu.is_finite())
    }

    /// The same of what stands behind it.
    pub fn behind_us_per_s(&self) -> Option<f64> {
        Some(self.cpu_us_per_s()? - self.front_us_per_s()?)
    }

    /// Its line of the file.
    pub fn line(&self) -> Vec<u8> {
        line(self)
    }
}

/// Reads all slices of a measurement. The last line of one that was killed while it wrote is left out.
///
/// # Errors
/// The file cannot be read, or has a line that is no slice.
pub fn read(path: &Path) -> Result<Vec<CostSlice>, String> {
    lines(path, "a slice at a rate")
}
