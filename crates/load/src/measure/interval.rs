//! What one load thread saw in one second (or the rest of one): the unit in which results travel to the collector.
//!
//! Plain data. It is filled by [`crate::record`], read and emptied by [`crate::measure::collector`], and goes back to be filled
//! again, so that a load thread never allocates or clears a histogram while it is being measured.

use crate::{measure::histogram::RawHistogram, measure::replies::Replies};
use brunt_results::result::{Bytes, Errors};
use serde::{Deserialize, Serialize};

/// The part of a run that an interval belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Phase {
    /// Connections are being opened; no request is sent.
    #[default]
    Connect,
    /// Load that is not measured.
    Warmup,
    /// The measured window.
    Window,
    /// No new requests; what is under way may still be answered.
    Drain,
}

/// Numbers of one interval.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counters {
    /// Requests sent.
    pub sent: u64,
    /// Requests answered rightly.
    pub completed: u64,
    /// Requests that failed.
    pub failed: u64,
    /// Requests that found every connection busy.
    pub waited: u64,
    /// Requests under way when the window closed.
    pub unanswered: u64,
    /// What went wrong, by kind; connections without a request included.
    pub errors: Errors,
    /// Payload bytes moved.
    pub bytes: Bytes,
    /// What the replies said, where the protocol has something to say.
    pub replies: Replies,
}

impl Counters {
    /// Adds another interval's numbers.
    pub fn add(&mut self, other: &Self) {
        self.sent += other.sent;
        self.completed += other.completed;
        self.failed += other.failed;
        self.waited += other.waited;
        self.unanswered += other.unanswered;
        self.errors.connect += other.errors.connect;
        self.errors.timeout += other.errors.timeout;
        self.errors.reset += other.errors.reset;
        self.errors.protocol += other.errors.protocol;
        self.errors.status += other.errors.status;
        self.bytes.sent += other.bytes.sent;
        self.bytes.received += other.bytes.received;
        self.replies.add(&other.replies);
    }
}

/// What a thread had consumed at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    /// When this was read, in nanoseconds of the run's clock.
    pub at_ns: u64,
    /// CPU time of the thread so far, in nanoseconds.
    pub cpu_ns: u64,
    /// The part of it burnt on waiting.
    pub spin_ns: u64,
}

/// One interval of one thread.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Its number on its thread, from 0.
    pub number: u32,
    /// The part of the run it belongs to.
    pub phase: Phase,
    /// Its first nanosecond in the run's clock.
    pub start_ns: u64,
    /// The nanosecond behind its last.
    pub end_ns: u64,
    /// Consumption at its start.
    pub usage_start: Usage,
    /// Consumption at its end.
    pub usage_end: Usage,
    /// Connections open at its end.
    pub connections: u64,
    /// Numbers.
    pub counters: Counters,
    /// done - intended. In a closed loop only of those without a good reply: the rest is `service`.
    pub response: RawHistogram,
    /// done - sent.
    pub service: RawHistogram,
    /// sent - intended, as far as it is the generator's fault. Empty in a closed loop, where it is 0 by definition.
    pub lag: RawHistogram,
    /// done - intended of failed requests.
    pub error: RawHistogram,
}
