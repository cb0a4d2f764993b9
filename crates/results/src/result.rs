//! `result.json`: what one trial measured. The keys are a contract; scripts rely on them.
//!
//! A figure that could not be had is `None` here and `null` there, and its reason is in `env.json`: never zero, never
//! an estimate.

use crate::{latency::LatencySummary, verdict::Verdict};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The name and version of this format.
pub const SCHEMA: &str = "brunt.result/1";

/// Raised whenever a change of brunt makes its figures no longer comparable with those of an older one.
pub const MEASUREMENT_REVISION: u32 = 1;

/// One trial.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// See [`MEASUREMENT_REVISION`].
    pub measurement_revision: u32,
    /// What made the load: `brunt`, or the name of a foreign tester.
    pub tester: String,
    /// May these numbers be called a property of the server?
    pub verdict: Verdict,
    /// The run ended early on request; what is here was measured until then.
    pub interrupted: bool,
    /// The load that was asked for.
    pub load: Load,
    /// Requests of the measured window.
    pub requests: Requests,
    /// Four distributions, in microseconds.
    pub latency: Latency,
    /// What went wrong, by kind.
    pub errors: Errors,
    /// Connections of the whole run.
    pub connections: Connections,
    /// TLS handshakes of the whole run; absent where none is made.
    #[serde(default)]
    pub handshakes: Option<Handshakes>,
    /// Payload bytes of the measured window.
    pub bytes: Bytes,
    /// What the replies of the measured window said; absent where the protocol says nothing (ping-pong).
    #[serde(default)]
    pub responses: Option<Responses>,
    /// What the generator itself consumed.
    pub generator: Generator,
    /// What the server consumed, where it could be seen.
    pub server: Server,
    /// What the whole machine did meanwhile, on everybody's account.
    #[serde(default)]
    pub host: Host,
}

impl RunResult {
    /// A result of this version with nothing measured yet.
    pub fn new(tester: &str) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            measurement_revision: MEASUREMENT_REVISION,
            tester: tester.to_owned(),
            verdict: Verdict::of(Vec::new()),
            interrupted: false,
            load: Load::default(),
            requests: Requests::default(),
            latency: Latency::default(),
            errors: Errors::default(),
            connections: Connections::default(),
            handshakes: None,
            bytes: Bytes::default(),
            responses: None,
            generator: Generator::default(),
            server: Server::default(),
            host: Host::default(),
        }
    }
}

/// What was asked of the tester.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The target as typed.
    pub url: String,
    /// `closed` (the next request waits for the reply) or `open` (requests have a schedule).
    pub mode: String,
    /// Name of the arrival process of an open loop: `constant`, `poisson`.
    pub arrival: Option<String>,
    /// Payload bytes of one request, where the protocol has a fixed one.
    pub request_bytes: Option<u64>,
    /// Connections asked for.
    pub connections: u64,
    /// Length of the measured window, in seconds, as it really was.
    pub measured_s: f64,
    /// Load before the window that was not measured, in seconds.
    pub warmup_s: f64,
    /// The seed of everything random in the run.
    pub seed: u64,
}

/// Requests of the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Answered rightly inside the window.
    pub completed: u64,
    /// Ended in an error inside the window, timeouts included.
    pub failed: u64,
    /// Without an answer when the window closed.
    pub unanswered: u64,
    /// `completed` per second of the window.
    pub rate: f64,
    /// The rate the schedule asked for; absent in a closed loop.
    pub offered_rate: Option<f64>,
    /// Requests that had to wait for a free connection because every one was awaiting a reply (open loop only).
    pub waited: Option<u64>,
}

/// The distributions of one trial, all in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// done - intended, of completed, unanswered and timed-out requests.
    pub response: LatencySummary,
    /// done - sent, of completed requests.
    pub service: LatencySummary,
    /// sent - intended as far as it is the generator's own fault: waiting for a free connection is not in it.
    pub lag: LatencySummary,
    /// done - intended, of failed requests.
    pub error: LatencySummary,
}

/// What went wrong, by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// A connection could not be opened.
    pub connect: u64,
    /// No complete reply within the timeout.
    pub timeout: u64,
    /// The peer closed or reset the connection.
    pub reset: u64,
    /// The reply was not what was expected: wrong bytes, too many bytes, bad framing.
    pub protocol: u64,
    /// The reply was well formed and reported a failure (an HTTP status, ...).
    pub status: u64,
}

impl Errors {
    /// All kinds together.
    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, count)| count).sum()
    }

    /// Each kind by its name.
    pub fn by_kind(&self) -> [(&'static str, u64); 5] {
        [
            ("connect", self.connect),
            ("timeout", self.timeout),
            ("reset", self.reset),
            ("protocol", self.protocol),
            ("status", self.status),
        ]
    }

    /// Those that happened, as `3 timeout, 1 reset`; empty if none did.
    pub fn words(&self) -> String {
        let happened = self.by_kind().into_iter().filter(|(_, count)| *count > 0);
        happened.map(|(kind, count)| format!("{count} {kind}")).collect::<Vec<_>>().join(", ")
    }
}

/// Connections of the whole run.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Connections {
    /// Opened successfully, reconnections included.
    pub opened: u64,
    /// Most open at one time.
    pub peak: u64,
    /// Opened per second before the load began, from the first attempt to the last; absent for a foreign tester.
    #[serde(default)]
    pub connect_rate_per_s: Option<f64>,
}

/// TLS handshakes of the whole run, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// Made with certificates and signatures.
    pub full: u64,
    /// Made by what the peers remembered of each other.
    pub resumed: u64,
    /// That came to nothing.
    pub failed: u64,
    /// From the accepted connection to the end of the handshake, in microseconds.
    pub time: LatencySummary,
    /// How many were made with which version and cipher suite.
    pub protocols: BTreeMap<String, u64>,
}

/// Payload bytes of the measured window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Bytes {
    /// Handed to the kernel.
    pub sent: u64,
    /// Taken from the kernel.
    pub received: u64,
}

/// What the replies of the measured window said.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Responses {
    /// How many replies had which status, by the number as text (`"200"`).
    pub statuses: BTreeMap<String, u64>,
    /// Bytes of their bodies, without head and chunk framing.
    pub body_bytes: Option<u64>,
}

/// What the generator itself consumed inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// CPU of all its threads; 100 is one core full. Absent for a foreign tester that could not be metered.
    pub cpu_percent: Option<f64>,
    /// The part of `cpu_percent` burnt on waiting: spinning for a reply or for the next send time.
    pub spin_percent: Option<f64>,
    /// The cores it was pinned to; empty if it was not.
    pub cores: Vec<usize>,
    /// CPU of each load thread, in the order of `cores`.
    pub thread_cpu_percent: Vec<f64>,
    /// How long the load thread that waited most was ready to run while somebody else had its core, in percent of the
    /// window.
    pub run_queue_wait_percent: Option<f64>,
    /// User-mode instructions of the generator for each completed request.
    pub instructions_user_per_request: Option<f64>,
    /// Requests per second that the generator reaches under the same load on a target that does nothing, in a closed
    /// loop; absent unless that was measured on this machine.
    pub ceiling_rate: Option<f64>,
    /// How often load threads left their cores to wait.
    pub voluntary_switches: Option<u64>,
    /// How often load threads lost their cores to others.
    pub involuntary_switches: Option<u64>,
    /// Pages mapped without reading a disk.
    pub minor_faults: Option<u64>,
    /// Pages that had to be read from a disk.
    pub major_faults: Option<u64>,
    /// Resident memory at the end of the window, in bytes.
    pub rss_bytes: Option<u64>,
}

/// What the server (its whole process tree) consumed inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Server {
    /// The process that listens; absent when the target is not on this machine or could not be found.
    pub pid: Option<u32>,
    /// CPU in user mode; 100 is one core full.
    pub cpu_user_percent: Option<f64>,
    /// CPU in the kernel on the server's account.
    pub cpu_system_percent: Option<f64>,
    /// CPU, user and system, of its busiest thread: at 100 the server cannot go faster on its threads.
    pub busiest_thread_percent: Option<f64>,
    /// How long its busiest thread was ready to run while somebody else had its core, in percent of the window.
    pub run_queue_wait_percent: Option<f64>,
    /// Resident memory before the first connection, in bytes.
    pub rss_start_bytes: Option<u64>,
    /// Of it what no file holds (`RssAnon`): without program text, which comes and goes.
    pub rss_anon_start_bytes: Option<u64>,
    /// Resident memory at the end of the window, in bytes.
    pub rss_bytes: Option<u64>,
    /// Of it what no file holds (`RssAnon`), in bytes.
    pub rss_anon_bytes: Option<u64>,
    /// Largest resident memory since the process began, in bytes.
    pub rss_peak_bytes: Option<u64>,
    /// Threads at the end of the window.
    pub threads: Option<u64>,
    /// CPU time, user and system, for each completed request, in microseconds.
    pub cpu_us_per_request: Option<f64>,
    /// User-mode instructions for each completed request.
    pub instructions_user_per_request: Option<f64>,
    /// Kernel-mode instructions for each completed request.
    pub instructions_kernel_per_request: Option<f64>,
    /// Cycles, user and kernel, for each completed request.
    pub cycles_per_request: Option<f64>,
    /// The cores the server may run on, where known.
    pub cores: Option<Vec<usize>>,
    /// How often its threads left their cores to wait.
    pub voluntary_switches: Option<u64>,
    /// How often its threads lost their cores to others.
    pub involuntary_switches: Option<u64>,
    /// Pages mapped without reading a disk.
    pub minor_faults: Option<u64>,
    /// Pages that had to be read from a disk.
    pub major_faults: Option<u64>,
    /// TCP payload received on the connections to its ports, in bytes.
    pub network_received_bytes: Option<u64>,
    /// TCP payload sent on these connections and acknowledged, in bytes.
    pub network_sent_bytes: Option<u64>,
    /// Segments sent again on these connections.
    pub retransmitted_segments: Option<u64>,
    /// Memory of the buffers of these connections at the end of the window, in bytes.
    pub socket_bytes: Option<u64>,
}

impl Server {
    /// User and system together; 100 is one core full.
    pub fn cpu_percent(&self) -> Option<f64> {
        Some(self.cpu_user_percent? + self.cpu_system_percent?)
    }
}

/// What the whole machine did inside the window, whoever asked for it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Host {
    /// CPU of all processors in use; 100 is one core full.
    pub cpu_percent: Option<f64>,
    /// CPU taken by the hypervisor, in percent of all processors.
    pub steal_percent: Option<f64>,
    /// Each processor by itself.
    pub cores: Option<Vec<Core>>,
    /// Share of the window in which something was ready to run and waited for a core.
    pub pressure_cpu_percent: Option<f64>,
    /// Share of the window in which something waited for memory.
    pub pressure_memory_percent: Option<f64>,
    /// Share of the window in which something waited for a disk.
    pub pressure_io_percent: Option<f64>,
    /// Frequency of the processors, mean over all of them and the window.
    pub frequency_mhz: Option<f64>,
    /// Bytes through the loopback interface, headers included, each counted once.
    pub loopback_bytes: Option<u64>,
    /// Bytes received by the other interfaces, headers included.
    pub interface_received_bytes: Option<u64>,
    /// Bytes sent by the other interfaces, headers included.
    pub interface_sent_bytes: Option<u64>,
    /// TCP segments sent again.
    pub retransmitted_segments: Option<u64>,
    /// Connections that were refused because an accept queue was full or for another want of the listener.
    pub listen_drops: Option<u64>,
    /// TCP sockets in use at the end of the window.
    pub tcp_sockets: Option<u64>,
    /// Memory of all TCP buffers at the end of the window, in bytes.
    pub tcp_memory_bytes: Option<u64>,
    /// Memory of the kernel's own objects (slabs), sockets among them, before the first connection, in bytes.
    pub slab_start_bytes: Option<u64>,
    /// The same at the end of the window.
    pub slab_bytes: Option<u64>,
}

/// One processor inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Core {
    /// Its number.
    pub core: usize,
    /// In use, in percent.
    pub cpu_percent: f64,
    /// In software interrupts, in percent: here the kernel receives what comes over the network.
    pub softirq_percent: f64,
}

/// The JSON Schema of `result.json`, as published under `docs/schema/`.
pub fn json_schema() -> serde_json::Value {
    schemars::schema_for!(RunResult).to_value()
}
