//! `series.jsonl`: one line per second of a run.

use serde::{Deserialize, Serialize};

/// One second of load. Times are microseconds; percentiles are of this second alone. Figures that end in `_per_s` are means
/// since the previous sample, and absent in seconds without a sample.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Second {
    /// Seconds since the load began, at the end of this interval.
    pub at_s: f64,
    /// Whether the second lies before the measured window.
    pub warmup: bool,
    /// Requests whose intended time lies in this second; absent in a closed loop.
    pub offered: Option<u64>,
    /// Requests sent.
    pub sent: u64,
    /// Requests answered correctly.
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
    /// Minor page faults of the server: no disk read.
    pub server_minor_faults_per_s: Option<f64>,
    /// Major page faults of the server: read from disk.
    pub server_major_faults_per_s: Option<f64>,
    /// Voluntary context switches of the server.
    pub server_voluntary_switches_per_s: Option<f64>,
    /// Involuntary context switches of the server.
    pub server_involuntary_switches_per_s: Option<f64>,
    /// User-mode instructions of the server.
    pub server_instructions_user_per_s: Option<f64>,
    /// Kernel-mode instructions of the server.
    pub server_instructions_kernel_per_s: Option<f64>,
    /// Cycles of the server.
    pub server_cycles_per_s: Option<f64>,
    /// TCP payload received for the server.
    pub server_network_received_bytes_per_s: Option<f64>,
    /// TCP payload sent by the server and acknowledged.
    pub server_network_sent_bytes_per_s: Option<f64>,
    /// TCP segments retransmitted on the server's connections.
    pub server_retransmitted_segments_per_s: Option<f64>,
    /// Memory of the socket buffers of the server's connections, in bytes.
    pub server_socket_bytes: Option<u64>,
    /// Resident memory of the generator, in bytes.
    pub generator_rss_bytes: Option<u64>,
    /// CPU of the whole machine; 100 is one core.
    pub host_cpu_percent: Option<f64>,
    /// CPU of the whole machine in softirqs; 100 is one core.
    pub host_softirq_percent: Option<f64>,
    /// CPU taken by the hypervisor, percent of all processors.
    pub host_steal_percent: Option<f64>,
    /// Share of time in which a task waited for a core, in percent.
    pub host_pressure_cpu_percent: Option<f64>,
    /// Share of time in which a task waited for memory, in percent.
    pub host_pressure_memory_percent: Option<f64>,
    /// Share of time in which a task waited for I/O, in percent.
    pub host_pressure_io_percent: Option<f64>,
    /// Mean frequency of the processors.
    pub host_frequency_mhz: Option<f64>,
    /// Bytes through the loopback interface.
    pub host_loopback_bytes_per_s: Option<f64>,
    /// Bytes received by the other interfaces.
    pub host_interface_received_bytes_per_s: Option<f64>,
    /// Bytes sent by the other interfaces.
    pub host_interface_sent_bytes_per_s: Option<f64>,
    /// TCP segments retransmitted by the whole machine.
    pub host_retransmitted_segments_per_s: Option<f64>,
    /// Memory of all TCP buffers, in bytes.
    pub host_tcp_memory_bytes: Option<u64>,
}
