//! A slice of load on one target: what is asked for, and what it measured.

use crate::result::{Connections, Errors, SendCounts};
use hdrhistogram::Histogram;
use std::time::Duration;

/// Length and arrivals of one slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SliceSpec {
    /// Load before the measured window.
    pub lead: Duration,
    /// The measured window, more than 0.
    pub window: Duration,
    /// Seed of the arrivals of an open loop; the same for all targets of a round.
    pub seed: u64,
}

/// What one slice measured. Times of replies are in nanoseconds.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Length of the window: as asked for, unless a script has ended it.
    pub window: Duration,
    /// From the start of the lead to the last reply, or to the end of the window if nothing was in flight then.
    pub busy: Duration,
    /// Requests of an open loop that were due in the window.
    pub offered: Option<u64>,
    /// Correct replies in the window.
    pub completed: u64,
    /// Replies, right or wrong, over lead, window and drain: every request between two idle moments.
    pub replies: u64,
    /// Requests that failed, over lead, window and drain.
    pub failed: u64,
    /// Requests in flight at the end of the window, and in an open loop those that were due and not sent.
    pub unanswered: u64,
    /// Requests of an open loop that were due in the window and never sent, and those that the drain gave up.
    pub abandoned: u64,
    /// Requests of the window that found every connection busy; `None` in a closed loop.
    pub waited: Option<u64>,
    /// Errors by kind over lead, window and drain, those of connections without a request included.
    pub errors: Errors,
    /// done - intended, of requests of the window with a reply; of those that were never sent, how long they have waited: the end of
    /// the slice has cut that short, not the target.
    pub response: Histogram<u64>,
    /// How long requests of the window that were sent have waited without a complete reply.
    pub censored: Histogram<u64>,
    /// done - sent; `None` in a closed loop, where it equals `response` for every reply.
    pub service: Option<Histogram<u64>>,
    /// sent - intended, as far as the generator caused it; `None` in a closed loop, where it is 0.
    pub lag: Option<Histogram<u64>>,
    /// How requests of the window were sent; `None` in a closed loop.
    pub sends: Option<SendCounts>,
    /// CPU time of the generator over lead, window and drain.
    pub cpu: Duration,
    /// CPU of the busiest load thread in the window, without the time it spent waiting, in percent of a core.
    pub busiest_percent: f64,
    /// Payload bytes of the window.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Replies of the window by status, in order of status; empty for protocols without one.
    pub statuses: Vec<(u16, u64)>,
    /// Connections so far.
    pub connections: Connections,
}
