//! What a coordinator is to do.

use crate::{MILLISECOND_NS, SECOND_NS};
use serde_json::Value;

/// One run.
#[derive(Debug, Clone)]
pub struct Config {
    /// The owner; a later epoch of the same one takes agents over.
    pub owner: String,
    /// Id of the run.
    pub run: String,
    /// Number of this coordinator among those of its owner: higher than that of any before.
    pub epoch: u64,
    /// The agents, each with its threads.
    pub members: Vec<Member>,
    /// Load threads of the run.
    pub threads: usize,
    /// What the load is sent to: no two runs are made to one of these at a time.
    pub targets: Vec<String>,
    /// Whether a run that has one of the targets already keeps this one from being made.
    pub is_exclusive: bool,
    /// Description of the load, which this crate does not read.
    pub load: Value,
    /// From the first request until the window opens, in nanoseconds.
    pub warmup_ns: i64,
    /// Length of the window, in nanoseconds; the longest, if `ends_by_count`.
    pub window_ns: i64,
    /// Whether the load of an agent ends by itself, once its share of a number of requests is done. It may be over at any time then, and
    /// the run is once all are.
    pub ends_by_count: bool,
    /// For how long requests may be unanswered after the end of the window, in nanoseconds.
    pub drain_ns: i64,
    /// For how long agents may prepare the load beyond what a description takes, in nanoseconds: they fetch files.
    pub prepare_ns: i64,
    /// For how long agents may open connections, in nanoseconds.
    pub connect_ns: i64,
    /// Largest bound of an offset with which a load is started, in nanoseconds; `None` allows any.
    pub skew_ns: Option<i64>,
    /// So many agents may be lost before the run ends.
    pub tolerate: usize,
    /// Tries to reserve all agents.
    pub tries: u32,
    /// Decides the pauses between these tries.
    pub seed: u64,
}

/// An agent of a run. Its threads are `first..end`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Id of the agent.
    pub id: String,
    /// First thread.
    pub first: usize,
    /// One behind its last thread.
    pub end: usize,
}

impl Config {
    /// Largest bound of an offset, unless told otherwise: 0.1 % of a window of 10 s.
    pub const SKEW_NS: i64 = 5 * MILLISECOND_NS;
    /// Tries to reserve all agents, unless told otherwise.
    pub const TRIES: u32 = 8;
    /// For how long agents may open connections, unless told otherwise.
    pub const CONNECT_NS: i64 = 30 * SECOND_NS;
}
