//! `result.json`: the figures of one trial. Its keys are a contract with scripts.
//!
//! An unavailable figure is `None` (`null`) with the reason in `env.json`; it is never zero and never an estimate.

mod apart;
mod bytes;
mod derived;
mod few_steps;
mod fleet;
mod host;
mod outage;
mod parts;
mod sends;
mod server;

pub use apart::Apart;
pub use bytes::Bytes;
pub use derived::RATE_TOLERANCE;
pub use few_steps::FewSteps;
pub use fleet::{AgentSeen, Fleet, MissingSecond, Probe};
pub use host::{Core, Host};
pub use outage::Outage;
pub use parts::{Named, PartFigures, Step};
pub use sends::{CLOSE_NS, CLOSED_LOOP_SENDS, CLUMPED_POINTS, Rest, SendCounts, Sends};
pub use server::{MemoryLimit, Placed, Server, ServerMachine, Throttled, Upstream};

use crate::{ConnectError, latency::LatencySummary, verdict::Verdict, wrong_reply::WrongReply};
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, de::IgnoredAny};
use std::collections::BTreeMap;

/// Name and version of the format.
pub const SCHEMA: &str = "brunt.result/1";

/// Incremented when figures are no longer comparable with those of older versions.
pub const MEASUREMENT_REVISION: u32 = 1;

/// One trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunResult {
    /// Always [`SCHEMA`].
    pub schema: String,
    /// See [`MEASUREMENT_REVISION`].
    pub measurement_revision: u32,
    /// The load generator: `brunt`, or the name of an external tester.
    pub tester: String,
    /// Whether the figures are a property of the server.
    pub verdict: Verdict,
    /// The run was interrupted; the figures cover the time until then.
    pub interrupted: bool,
    /// The requested load.
    pub load: Load,
    /// Requests of the measured window.
    pub requests: Requests,
    /// How they were sent; absent in a closed loop, where each follows a reply, and for external testers.
    #[serde(default)]
    pub sends: Option<Sends>,
    /// Four distributions, in microseconds.
    pub latency: Latency,
    /// Errors by kind.
    pub errors: Errors,
    /// The first reply that was not as expected; absent if there was none.
    #[serde(default)]
    pub first_wrong_reply: Option<WrongReply>,
    /// Error of the first connection that could not be opened; absent if there was none.
    #[serde(default)]
    pub first_connect_error: Option<ConnectError>,
    /// Figures of each named part of the load; empty if it has one part.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub names: Vec<Named>,
    /// Figures of each step of an offered rate that changes; empty if it does not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
    /// Connections of the whole run.
    pub connections: Connections,
    /// TLS handshakes of the whole run; absent without TLS.
    #[serde(default)]
    pub handshakes: Option<Handshakes>,
    /// Payload bytes of the measured window.
    pub bytes: Bytes,
    /// Replies of the measured window by status; absent for protocols without one (echo).
    #[serde(default)]
    pub responses: Option<Responses>,
    /// Resources used by the generator.
    pub generator: Generator,
    /// Resources used by the server, where visible.
    pub server: Server,
    /// Resources used by the whole machine.
    #[serde(default)]
    pub host: Host,
    /// The machines that made the load; absent if this one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fleet: Option<Fleet>,
    /// What a machine saw that did not make the load; absent unless it was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probe: Option<Probe>,
    /// Figures computed from the others, by name. Set where a result is written, not read back.
    #[serde(default, deserialize_with = "unread", skip_serializing_if = "BTreeMap::is_empty")]
    pub figures: BTreeMap<String, Option<f64>>,
}

impl RunResult {
    /// An empty result of the current version.
    pub fn new(tester: &str) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            measurement_revision: MEASUREMENT_REVISION,
            tester: tester.to_owned(),
            ..Self::default()
        }
    }
}

/// The load that the tester was asked to make.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// The target as typed.
    pub url: String,
    /// Name of the protocol: `tcp`, `unix`, `http`; absent in results of older versions.
    pub protocol: Option<String>,
    /// `closed` (the next request waits for the reply) or `open` (requests have a schedule).
    pub mode: String,
    /// Name of the arrival process of an open loop: `constant`, `poisson`, or `recorded` in a replay.
    pub arrival: Option<String>,
    /// Which connection takes the next request of an open loop: `turns` or `random`; absent in results of older versions, where it
    /// was `turns`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub spread: Option<String>,
    /// Requests of an open loop were sent at multiples of this time only, in microseconds; absent if each was when it was due.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub send_tick_us: Option<f64>,
    /// Payload bytes of one request, where fixed.
    pub request_bytes: Option<u64>,
    /// Variants of each request, sent in turn; absent if requests are equal.
    pub vary: Option<u64>,
    /// Connections requested.
    pub connections: u64,
    /// Requests that were asked for; absent where the length of the window was.
    #[serde(default)]
    pub requests: Option<u64>,
    /// Actual length of the measured window, in seconds.
    pub measured_s: f64,
    /// Length of the warm-up before the window, in seconds.
    pub warmup_s: f64,
    /// Seed of all random numbers of the run.
    pub seed: u64,
}

/// Requests of the measured window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Requests {
    /// Answered correctly inside the window.
    pub completed: u64,
    /// Refused replies that came inside the window, and requests intended in it that got no complete reply, timeouts
    /// included, even if the time ran out after it.
    pub failed: u64,
    /// Neither completed nor failed when the window closed, and not lost after it: answered late, or abandoned.
    pub unanswered: u64,
    /// Intended inside the window and without an outcome when the run ended, at most a second after the window.
    #[serde(default)]
    pub abandoned: u64,
    /// For how long the longest of them that had been sent was without a reply when the run ended, in microseconds; absent if none
    /// had been sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left_us: Option<f64>,
    /// `completed` per second of the window.
    pub rate: f64,
    /// Requests per second of the schedule; absent in a closed loop.
    pub offered_rate: Option<f64>,
    /// Requests of the schedule that were due inside the window; absent in a closed loop, by slices and for external testers.
    #[serde(default)]
    pub due: Option<u64>,
    /// Requests that waited because every connection was awaiting a reply; open loop only.
    pub waited: Option<u64>,
}

impl Requests {
    /// Requests a second that were due in a window of this length, which may be too short for the rate of the schedule.
    pub fn due_rate(&self, measured_s: f64) -> Option<f64> {
        let of_window = self.due.filter(|_| measured_s > 0.0).map(|due| due as f64 / measured_s);
        of_window.or(self.offered_rate)
    }
}

/// The distributions of one trial, all in microseconds.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Latency {
    /// done - intended, of completed, unanswered and timed-out requests.
    pub response: LatencySummary,
    /// done - sent, of completed requests.
    pub service: LatencySummary,
    /// First byte of the reply - sent, of completed requests. Of HTTP alone.
    #[serde(default)]
    pub first_byte: Option<LatencySummary>,
    /// sent - intended, without the time spent waiting for a free connection, or for the next multiple of `load.send_tick_us`: the
    /// generator's own lateness.
    pub lag: LatencySummary,
    /// done - intended, of failed requests.
    pub error: LatencySummary,
}

/// Errors by kind.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Errors {
    /// A connection could not be opened.
    pub connect: u64,
    /// No complete reply within the timeout.
    pub timeout: u64,
    /// The peer reset the connection, or closed it before the first byte of its first reply.
    pub reset: u64,
    /// The peer closed or reset the connection after a complete reply, with a request unanswered, before the first byte of its reply.
    #[serde(default)]
    pub closed: u64,
    /// The peer closed the connection within a reply.
    #[serde(default)]
    pub truncated: u64,
    /// The reply was not as expected: wrong bytes, too many bytes, bad framing.
    pub protocol: u64,
    /// The reply was well formed and reported a failure, as by an HTTP status.
    pub status: u64,
    /// The reply was well formed and its body was not the required one.
    #[serde(default)]
    pub mismatch: u64,
}

impl Errors {
    pub fn add(&mut self, more: &Self) {
        self.connect += more.connect;
        self.timeout += more.timeout;
        self.reset += more.reset;
        self.closed += more.closed;
        self.truncated += more.truncated;
        self.protocol += more.protocol;
        self.status += more.status;
        self.mismatch += more.mismatch;
    }

    /// The sum of all kinds.
    pub fn total(&self) -> u64 {
        self.by_kind().iter().map(|(_, count)| count).sum()
    }

    /// The counts by name of the kind.
    pub fn by_kind(&self) -> [(&'static str, u64); 8] {
        [
            ("connect", self.connect),
            ("timeout", self.timeout),
            ("reset", self.reset),
            ("closed", self.closed),
            ("truncated", self.truncated),
            ("protocol", self.protocol),
            ("status", self.status),
            ("mismatch", self.mismatch),
        ]
    }

    /// The nonzero counts, as `3 timeout, 1 reset`; empty if there are none.
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
    /// Most open at the same time.
    pub peak: u64,
    /// Opened per second before the load, from the first attempt to the last; absent for external testers.
    #[serde(default)]
    pub connect_rate_per_s: Option<f64>,
    /// Connections with a good reply in the window, in percent of all; absent by slices and for external testers.
    #[serde(default)]
    pub served_percent: Option<f64>,
    /// Replies on each connection that the peer then closed with a request unanswered; absent if it closed none so, or after
    /// different numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub closed_after: Option<u64>,
    /// Connections that were reset, as the peer did not close them within 0.2 s of the reply with which it was to; absent if there
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept_open: Option<u64>,
    /// Times in which the target could not be connected to, of 10 ms and more, up to a hundred; absent by slices and for external
    /// testers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub outages: Option<Vec<Outage>>,
    /// Jain's fairness index of the good replies of each connection in the window: 1 if all got as many. Absent as
    /// `served_percent` is.
    #[serde(default)]
    pub jain_index: Option<f64>,
}

/// TLS handshakes of the whole run, warm-up included.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Handshakes {
    /// Full handshakes, with certificates and signatures.
    pub full: u64,
    /// Resumed sessions.
    pub resumed: u64,
    /// Failed handshakes.
    pub failed: u64,
    /// Time from the accepted connection to the end of the handshake, in microseconds.
    pub time: LatencySummary,
    /// Count by protocol version and cipher suite.
    pub protocols: BTreeMap<String, u64>,
}

/// Replies of the measured window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Responses {
    /// Count by status, as text (`"200"`).
    pub statuses: BTreeMap<String, u64>,
    /// Bytes of the bodies, without heads and chunk framing.
    pub body_bytes: Option<u64>,
    /// Count of replies that break a rule of HTTP/1 and were read leniently; absent by slices and for external testers.
    #[serde(default)]
    pub lenient: Option<u64>,
    /// Their count by rule; a reply may break several.
    #[serde(default)]
    pub lenient_rules: Option<BTreeMap<String, u64>>,
    /// Count of replies that were refused, by rule; absent as `lenient` is.
    #[serde(default)]
    pub refused_rules: Option<BTreeMap<String, u64>>,
    /// Count of replies by the time between their first and their last byte; absent if none has taken 20 to 80 ms for it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apart: Option<Apart>,
    /// Count of redirects that are to be followed; absent if there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redirects: Option<u64>,
    /// Count of requests that were sent to follow one, each with a reply of its own; those of the last redirects may come after the
    /// end of the window, or of the number of requests.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub followed: Option<u64>,
}

impl Responses {
    /// With the figures that every tester has.
    pub fn of(statuses: BTreeMap<String, u64>, body_bytes: Option<u64>) -> Self {
        Self { statuses, body_bytes, ..Self::default() }
    }
}

/// Resources used by the generator inside the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Generator {
    /// CPU of all its threads; 100 is one core. Absent for an external tester that could not be metered.
    pub cpu_percent: Option<f64>,
    /// The part of `cpu_percent` spent spinning for a reply or for the next send time.
    pub spin_percent: Option<f64>,
    /// Cores it was pinned to; empty if none.
    pub cores: Vec<usize>,
    /// Cores that its load threads may use; absent where unknown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_cores: Option<Vec<usize>>,
    /// CPU of each load thread, in the order of `cores`.
    pub thread_cpu_percent: Vec<f64>,
    /// Longest time that one load thread was runnable without a core, in percent of the window.
    pub run_queue_wait_percent: Option<f64>,
    /// User-mode instructions of the generator per completed request.
    pub instructions_user_per_request: Option<f64>,
    /// Requests per second that the generator reaches with the same load, in a closed loop, against a null target; absent
    /// unless calibrated on this machine.
    pub ceiling_rate: Option<f64>,
    /// Voluntary context switches of the load threads.
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches of the load threads.
    pub involuntary_switches: Option<u64>,
    /// Minor page faults: no disk read.
    pub minor_faults: Option<u64>,
    /// Major page faults: read from disk.
    pub major_faults: Option<u64>,
    /// Resident memory at the end of the window, in bytes.
    pub rss_bytes: Option<u64>,
}

/// Nothing: computed figures follow from the result.
fn unread<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, Option<f64>>, D::Error> {
    IgnoredAny::deserialize(deserializer).map(|_| BTreeMap::new())
}
