//! The `host` part of a result: what the whole machine did inside the window.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resources used by the whole machine inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// CPU of all processors; 100 is one core.
    pub cpu_percent: Option<f64>,
    /// CPU stolen by the hypervisor, in percent of all processors.
    pub steal_percent: Option<f64>,
    /// Each processor.
    pub cores: Option<Vec<Core>>,
    /// Share of the window in which a task waited for a core, in percent.
    pub pressure_cpu_percent: Option<f64>,
    /// Share of the window in which a task waited for memory, in percent.
    pub pressure_memory_percent: Option<f64>,
    /// Share of the window in which a task waited for I/O, in percent.
    pub pressure_io_percent: Option<f64>,
    /// Frequency, mean over processors and window.
    pub frequency_mhz: Option<f64>,
    /// Bytes through the loopback interface, headers included, each counted once.
    pub loopback_bytes: Option<u64>,
    /// Bytes received by the other interfaces, headers included.
    pub interface_received_bytes: Option<u64>,
    /// Bytes sent by the other interfaces, headers included.
    pub interface_sent_bytes: Option<u64>,
    /// TCP segments retransmitted.
    pub retransmitted_segments: Option<u64>,
    /// Connections dropped by listeners, as for a full accept queue.
    pub listen_drops: Option<u64>,
    /// Times that a TCP socket announced that it takes no more data: a slow reader, or `net.ipv4.tcp_mem` is in use.
    pub zero_windows: Option<u64>,
    /// TCP sockets in use at the end of the window.
    pub tcp_sockets: Option<u64>,
    /// Memory of all TCP buffers at the end of the window, in bytes.
    pub tcp_memory_bytes: Option<u64>,
    /// Memory of kernel objects (slabs, with sockets) before the first connection, in bytes.
    pub slab_start_bytes: Option<u64>,
    /// The same at the end of the window.
    pub slab_bytes: Option<u64>,
    /// The part of sockets and their files (`TCP`, `TCPv6`, `sock_inode_cache`, `filp`, `dentry`) before the first connection.
    #[serde(default)]
    pub slab_sockets_start_bytes: Option<u64>,
    /// The same at the end of the window.
    #[serde(default)]
    pub slab_sockets_bytes: Option<u64>,
    /// The part of requests of io_uring (`io_kiocb`) before the first connection.
    #[serde(default)]
    pub slab_io_uring_start_bytes: Option<u64>,
    /// The same at the end of the window.
    #[serde(default)]
    pub slab_io_uring_bytes: Option<u64>,
    /// The part of epoll's entries (`eventpoll_epi`, `eventpoll_pwq`) before the first connection.
    #[serde(default)]
    pub slab_epoll_start_bytes: Option<u64>,
    /// The same at the end of the window.
    #[serde(default)]
    pub slab_epoll_bytes: Option<u64>,
}

/// Use of one processor inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Core {
    /// Number of the processor.
    pub core: usize,
    /// Time in use, in percent.
    pub cpu_percent: f64,
    /// Time in softirqs, in percent: here the kernel receives packets.
    pub softirq_percent: f64,
}
