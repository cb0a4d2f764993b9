//! `load.json`: what a load was asked to do, for programs that follow it while it runs.

use serde::{Deserialize, Serialize};

/// Written before the load begins.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LoadStart {
    /// Its process.
    pub pid: u32,
    /// Seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The target as typed.
    pub url: String,
    /// The most, if their number changes.
    pub connections: u64,
    pub threads: u64,
    /// Requests per second of an open loop, the mean if the rate changes; absent in a closed loop.
    pub rate: Option<f64>,
    /// Whether the rate or the number of connections changes within the window.
    pub rate_changes: bool,
    /// Length of the warm-up, the longest one if it is `steady`.
    pub warmup_s: f64,
    /// Whether the warm-up ends by rule.
    pub steady: bool,
    /// Length of the window, the longest one with `requests`.
    pub duration_s: f64,
    /// Replies after which the load ends.
    pub requests: Option<u64>,
    /// The metered process.
    pub server_pid: Option<u32>,
    /// Why no server is metered.
    pub no_server: Option<String>,
}
