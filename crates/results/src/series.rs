//! `series.jsonl`: one line for each second of a run.

use serde::{Deserialize, Serialize};

/// One second of load. Times are in microseconds, percentiles of this second alone. What ends in `_per_s` is a mean since
/// the look before, which is absent where looking once a second would cost too much.
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
    /// Threads of the server.
    pub server_threads: Option<u64>,
    /// Pages that the server mapped without reading a disk.
    pub server_minor_faults_per_s: Option<f64>,
    /// Pages of the server that had to be read from a disk.
    pub server_major_faults_per_s: Option<f64>,
    /// How often threads of the server left their cores to wait.
    pub server_voluntary_switches_per_s: Option<f64>,
    /// How often threads of the server lost their cores to others.
    pub server_involuntary_switches_per_s: Option<f64>,
    /// Instructions of the server in user mode.
    pub server_instructions_user_per_s: Option<f64>,
    /// Instructions of the server in the kernel.
    pub server_instructions_kernel_per_s: Option<f64>,
    /// Cycles of the server.
    pub server_cycles_per_s: Option<f64>,
    /// TCP payload that reached the server's machine for it.
    pub server_network_received_bytes_per_s: Option<f64>,
    /// TCP payload of the server that its peers acknowledged.
    pub server_network_sent_bytes_per_s: Option<f64>,
    /// Segments that the server's machine sent again on its connections.
    pub server_retransmitted_segments_per_s: Option<f64>,
    /// Memory of the buffers of the server's connections, in bytes.
    pub server_socket_bytes: Option<u64>,
    /// Resident memory of the generator, in bytes.
    pub generator_rss_bytes: Option<u64>,
    /// CPU of the whole machine; 100 is one core.
    pub host_cpu_percent: Option<f64>,
    /// CPU of the whole machine in software interrupts; 100 is one core.
    pub host_softirq_percent: Option<f64>,
    /// CPU taken by the hypervisor, percent of all processors.
    pub host_steal_percent: Option<f64>,
    /// Share of the time in which something waited for a core.
    pub host_pressure_cpu_percent: Option<f64>,
    /// Share of the time in which something waited for memory.
    pub host_pressure_memory_percent: Option<f64>,
    /// Share of the time in which something waited for a disk.
    pub host_pressure_io_percent: Option<f64>,
    /// Frequency of the processors, mean over all.
    pub host_frequency_mhz: Option<f64>,
    /// Bytes through the loopback interface.
    pub host_loopback_bytes_per_s: Option<f64>,
    /// Bytes that the other interfaces received.
    pub host_interface_received_bytes_per_s: Option<f64>,
    /// Bytes that the other interfaces sent.
    pub host_interface_sent_bytes_per_s: Option<f64>,
    /// TCP segments sent again by anybody.
    pub host_retransmitted_segments_per_s: Option<f64>,
    /// Memory of all TCP buffers, in bytes.
    pub host_tcp_memory_bytes: Option<u64>,
}
