//! `series.jsonl`: one line for each second of a run.

use serde::{Deserialize, Serialize};

/// One second of load. Times are in microseconds, percentiles of this second alone.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the load began, at the end of this interval.
    pub at_s: f64,
    /// True while the figures are not part of the measured window.
    pub warmup: bool,
    /// Requests whose intended time fell in this second; absent in a closed loop.
    pub offered: Option<u64>,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered rightly.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Connections open at the end of the interval.
    pub connections: u64,
    /// Median response time.
    pub p50_us: Option<f64>,
    /// 99th percentile of response time.
    pub p99_us: Option<f64>,
    /// 99th percentile of lag.
    pub lag_p99_us: Option<f64>,
    /// CPU of the generator; 100 is one core.
    pub generator_cpu_percent: Option<f64>,
    /// CPU of the server, user mode.
    pub server_cpu_user_percent: Option<f64>,
    /// CPU of the server, system mode.
    pub server_cpu_system_percent: Option<f64>,
    /// Resident memory of the server, in bytes.
    pub server_rss_bytes: Option<u64>,
}
