//! `series.jsonl`: one line per second of a run.

mod line;

pub use line::Line;

use crate::{latency::LatencySummary, result::Errors};
use serde::{Deserialize, Serialize};

/// Figures of the measured window from its start to the end of a second.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SoFar {
    /// Response times.
    pub response: LatencySummary,
    pub lag_p99_us: Option<f64>,
    /// Requests that found every connection busy, those that still wait for one included.
    pub waited: u64,
    /// Errors by kind; `connect` counts those of the whole run.
    pub errors: Errors,
    /// Requests among them.
    pub failed: Option<u64>,
    /// CPU of the busiest load thread without what it spent on waiting, in percent of a core.
    pub busiest_thread_percent: Option<f64>,
}

/// One second of load. Percentiles are of response time and of this second alone. CPU figures are percent of one core. Figures
/// that end in `_per_s` are means since the previous sample, and absent in seconds without a sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the load began, at the end of this interval, which begins where the one before ends or with the load.
    pub at_s: f64,
    /// Whether the second lies before the measured window.
    pub warmup: bool,
    /// Requests whose intended time lies in this second; absent in a closed loop.
    pub offered: Option<u64>,
    pub sent: u64,
    pub completed: u64,
    pub failed: u64,
    /// At the end of the interval.
    pub connections: u64,
    /// Share of the response times that are lower bounds, those of requests without a complete reply; absent if none is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub censored_share: Option<f64>,
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    #[serde(default)]
    pub p999_us: Option<f64>,
    pub lag_p99_us: Option<f64>,
    pub generator_cpu_percent: Option<f64>,
    pub server_cpu_user_percent: Option<f64>,
    pub server_cpu_system_percent: Option<f64>,
    pub server_rss_bytes: Option<u64>,
    pub server_threads: Option<u64>,
    pub server_minor_faults_per_s: Option<f64>,
    pub server_major_faults_per_s: Option<f64>,
    pub server_voluntary_switches_per_s: Option<f64>,
    pub server_involuntary_switches_per_s: Option<f64>,
    pub server_instructions_user_per_s: Option<f64>,
    pub server_instructions_kernel_per_s: Option<f64>,
    pub server_cycles_per_s: Option<f64>,
    /// TCP payload received for the server.
    pub server_network_received_bytes_per_s: Option<f64>,
    /// TCP payload sent by the server and acknowledged.
    pub server_network_sent_bytes_per_s: Option<f64>,
    pub server_retransmitted_segments_per_s: Option<f64>,
    /// Memory of the socket buffers of the server's connections, in bytes.
    pub server_socket_bytes: Option<u64>,
    /// Periods in which a CPU quota stopped the server, in percent; absent if none has passed, or there is no quota.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_throttled_percent: Option<f64>,
    pub generator_rss_bytes: Option<u64>,
    pub host_cpu_percent: Option<f64>,
    pub host_softirq_percent: Option<f64>,
    /// CPU taken by the hypervisor, percent of all processors.
    pub host_steal_percent: Option<f64>,
    /// Share of time in which a task waited for a core, in percent.
    pub host_pressure_cpu_percent: Option<f64>,
    pub host_pressure_memory_percent: Option<f64>,
    pub host_pressure_io_percent: Option<f64>,
    pub host_frequency_mhz: Option<f64>,
    pub host_loopback_bytes_per_s: Option<f64>,
    pub host_interface_received_bytes_per_s: Option<f64>,
    pub host_interface_sent_bytes_per_s: Option<f64>,
    pub host_retransmitted_segments_per_s: Option<f64>,
    pub host_tcp_memory_bytes: Option<u64>,
    /// Absent where the generator does not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub so_far: Option<Box<SoFar>>,
}
