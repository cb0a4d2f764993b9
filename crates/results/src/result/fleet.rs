//! The machines that made a load together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A load that agents on several machines made. Times are those of the coordinator's CLOCK_MONOTONIC, as near as clocks are known.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fleet {
    /// Id of the run, as agents name it in their logs and journals.
    pub run: String,
    /// What carries the messages, with its version: `nats-server 2.15.2`.
    pub engine: String,
    /// The arrival process of all agents together: `constant x 4` are four constant ones, whose order is that of one process only below
    /// a rate at which the clocks of all agents are known well enough.
    pub arrival: Option<String>,
    /// From the first to the last first request of the agents, in microseconds; absent unless two have told theirs.
    pub start_spread_us: Option<f64>,
    /// Seconds of the load from 0 on that have arrived from all agents.
    pub whole_seconds: u64,
    /// Seconds that have not.
    pub missing: Vec<MissingSecond>,
    /// Each agent.
    pub agents: Vec<AgentSeen>,
}

/// A low, steady load of the same requests from a machine that does not make the load, for as long as the window.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// Id of the agent that made it.
    pub agent: String,
    /// Name of its machine.
    pub name: String,
    /// Requests a second, at random times.
    pub rate: f64,
    /// Its connections.
    pub connections: u64,
    /// Requests that were answered correctly.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Median response time, in microseconds; absent without a completed request.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time, in microseconds.
    pub p99_us: Option<f64>,
    /// Longest response time, in microseconds.
    pub max_us: Option<f64>,
    /// 99th percentile of the time by which it sent late through its own fault, in microseconds.
    pub lag_p99_us: Option<f64>,
}

/// A second that an agent has not sent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MissingSecond {
    /// Id of the agent.
    pub agent: String,
    /// Its number, from 0 at the start of the load.
    pub second: u64,
}

/// An agent as its coordinator has seen it.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AgentSeen {
    /// Its id.
    pub id: String,
    /// Name of its machine.
    pub host: String,
    /// Another number at each start of the agent, in hexadecimal.
    pub incarnation: String,
    /// Cores that it may run on.
    pub cores: u64,
    /// Its load threads.
    pub threads: u64,
    /// Its connections.
    pub connections: u64,
    /// Requests of the measured window that were answered correctly.
    pub completed: u64,
    /// Median response time, in microseconds; absent without a completed request.
    pub p50_us: Option<f64>,
    /// 99th percentile of the response time, in microseconds.
    pub p99_us: Option<f64>,
    /// 99th percentile of the time by which the agent sent late through its own fault, in microseconds.
    pub lag_p99_us: Option<f64>,
    /// CPU time of its busiest load thread, in percent of a core; absent where it could not be read.
    pub thread_cpu_percent: Option<f64>,
    /// The highest rate of its part of the load on a null server of its machine, in requests a second, while all agents measured theirs;
    /// absent without `--calibrate`, or where it could not be measured.
    #[serde(default)]
    pub ceiling_rate: Option<f64>,
    /// Its CLOCK_MONOTONIC minus the coordinator's, in microseconds.
    #[serde(default)]
    pub clock_offset_us: Option<f64>,
    /// Largest error of what is known of its clock when the start was agreed on, in microseconds.
    pub clock_error_us: Option<f64>,
    /// By how much its clock runs faster than the coordinator's, in millionths; absent in a short run.
    pub drift_ppm: Option<f64>,
    /// Its first request after the start that was agreed on, in microseconds.
    pub first_send_us: Option<f64>,
    /// Seconds that have arrived from it.
    pub seconds: u64,
    /// When it was lost, in seconds of the load; absent if it was not.
    pub lost_at_s: Option<f64>,
    /// Why it was lost.
    pub lost: Option<String>,
}
