//! The server of a result, with what stands behind it.

use super::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Resources used by the server, with its whole process tree, inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// The listening process; absent if the target is not on this machine or was not found.
    pub pid: Option<u32>,
    /// CPU in user mode; 100 is one core.
    pub cpu_user_percent: Option<f64>,
    /// CPU in kernel mode; 100 is one core.
    pub cpu_system_percent: Option<f64>,
    /// CPU, user and system, of its busiest thread: at 100 that thread is saturated.
    pub busiest_thread_percent: Option<f64>,
    /// Time that its busiest thread was runnable without a core, in percent of the window.
    pub run_queue_wait_percent: Option<f64>,
    /// Resident memory before the first connection, in bytes.
    pub rss_start_bytes: Option<u64>,
    /// Anonymous part of it (`RssAnon`), in bytes: without pages of files, such as program text.
    pub rss_anon_start_bytes: Option<u64>,
    /// Resident memory at the end of the window, in bytes.
    pub rss_bytes: Option<u64>,
    /// Anonymous part of it (`RssAnon`), in bytes.
    pub rss_anon_bytes: Option<u64>,
    /// Peak resident memory since the process started, in bytes.
    pub rss_peak_bytes: Option<u64>,
    /// Threads at the end of the window.
    pub threads: Option<u64>,
    /// CPU time, user and system, per completed request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// User-mode instructions per completed request.
    pub instructions_user_per_request: Option<f64>,
    /// Kernel-mode instructions per completed request.
    pub instructions_kernel_per_request: Option<f64>,
    /// Cycles, user and kernel, per completed request.
    pub cycles_per_request: Option<f64>,
    /// Cores the server may run on, where known.
    pub cores: Option<Vec<usize>>,
    /// Voluntary context switches.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches.
    pub involuntary_switches: Option<u64>,
    /// Minor page faults: no disk read.
    pub minor_faults: Option<u64>,
    /// Major page faults: read from disk.
    pub major_faults: Option<u64>,
    /// TCP payload received on connections to its ports, in bytes.
    pub network_received_bytes: Option<u64>,
    /// TCP payload sent and acknowledged on these connections, in bytes.
    pub network_sent_bytes: Option<u64>,
    /// TCP segments retransmitted on these connections.
    pub retransmitted_segments: Option<u64>,
    /// Memory of the socket buffers of these connections at the end of the window, in bytes.
    pub socket_bytes: Option<u64>,
    /// Where it is, if an agent of a fleet has metered it on another machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<Box<ServerMachine>>,
    /// Where it was moved for the load; absent if it stayed where it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placed: Option<Placed>,
    /// The CPU quota that stopped it in most periods; absent if none of its control groups has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub throttled: Option<Throttled>,
    /// The memory limit because of which most happened; absent if none of its control groups has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory_limit: Option<MemoryLimit>,
    /// What it is connected to on this machine as a client, and what these are connected to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub upstreams: Vec<Upstream>,
    /// What it is connected to as a client and whose CPU time is not known, each with the reason.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unseen_upstreams: Vec<String>,
}

/// The machine of a server that an agent of a fleet has metered.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ServerMachine {
    /// Id of the agent.
    pub agent: String,
    /// Name of the machine.
    pub name: String,
    /// The window of the meter begins and ends later than that of the load, by this much at most, in microseconds.
    pub delay_us: f64,
    /// What the whole machine did.
    pub host: Host,
}

/// The cores of a server that was moved for the load, and given back after it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Placed {
    pub cores: Vec<usize>,
    /// Those that its first thread could use before and after.
    pub before: Vec<usize>,
}

/// A CPU quota of a control group of the server, inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Throttled {
    /// Directory of the group: the server's own, or one above it.
    pub group: String,
    /// CPU time that it may use per time, in cores.
    pub quota_cores: f64,
    /// Periods in which processes of the group wanted to run.
    pub periods: u64,
    /// Those in which they were stopped until the end, as the quota was used up.
    pub throttled_periods: u64,
    /// Time for which they were stopped, summed over the cores, in seconds.
    pub throttled_s: f64,
}

impl Throttled {
    /// Share of the periods in which the group was stopped, in percent.
    pub fn percent(&self) -> f64 {
        self.throttled_periods as f64 / self.periods.max(1) as f64 * 100.0
    }
}

/// The memory limit of a control group of the server, inside the window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemoryLimit {
    /// Directory of the group: the server's own, or one above it.
    pub group: String,
    /// Above it, its processes wait until memory is reclaimed (`memory.high`), in bytes.
    pub high_bytes: Option<u64>,
    /// It never uses more (`memory.max`, `memory.limit_in_bytes`), in bytes.
    pub max_bytes: Option<u64>,
    /// What it used at the end, page cache included, in bytes.
    pub used_bytes: Option<u64>,
    /// Times that its processes waited because it was above `high_bytes`.
    pub high_events: u64,
    /// Times that it was about to use more than `max_bytes`, and memory, page cache first, was reclaimed.
    pub max_events: u64,
    /// Processes of it that the kernel killed for want of memory.
    pub killed: u64,
}

/// A process tree behind the server, inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Upstream {
    pub name: String,
    /// Its first process.
    pub pid: u32,
    /// Where it listens: `IP:PORT` or `unix:PATH`.
    pub addresses: Vec<String>,
    /// CPU, user and system; 100 is one core.
    pub cpu_percent: f64,
    /// CPU time, user and system, per completed request of the load, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// Resident memory at the end, in bytes.
    pub rss_bytes: u64,
    /// Connections of the service to it, when they were last counted.
    pub connections: u64,
    /// Connections of others to it: it works for them too.
    pub other_connections: u64,
}

impl Upstream {
    /// Adds what `before` used, which it has replaced.
    pub fn add_usage(&mut self, before: &Self) {
        self.cpu_percent += before.cpu_percent;
        self.cpu_us_per_request = self.cpu_us_per_request.zip(before.cpu_us_per_request).map(|(now, then)| now + then);
    }
}

impl Server {
    /// CPU, user and system; 100 is one core.
    pub fn cpu_percent(&self) -> Option<f64> {
        Some(self.cpu_user_percent? + self.cpu_system_percent?)
    }

    /// That of the server and of what stands behind it.
    pub fn service_percent(&self) -> Option<f64> {
        Some(self.upstreams.iter().fold(self.cpu_percent()?, |sum, one| sum + one.cpu_percent))
    }

    /// CPU time of the server and of what stands behind it, for a completed request, in microseconds.
    pub fn service_us_per_request(&self) -> Option<f64> {
        self.upstreams.iter().try_fold(self.cpu_us_per_request?, |sum, one| Some(sum + one.cpu_us_per_request?))
    }
}
