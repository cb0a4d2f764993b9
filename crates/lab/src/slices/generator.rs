//! What makes the load of slices: one set of connections for each target, which idles until it is asked for a slice.

use brunt_results::result::Errors;
use hdrhistogram::Histogram;
use std::time::Duration;

/// Opens connection sets; implemented by the generator of this program.
pub trait Generator: std::fmt::Debug {
    /// Opens all connections of one target and waits for them. `words` are arguments of `brunt load`, the URL first; those on
    /// length, warm-up and output have no effect. The error is one line.
    fn open(&self, words: &[String]) -> Result<Box<dyn ConnectionSet>, String>;
}

/// Length and arrivals of one slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SliceSpec {
    /// Load before the measured window.
    pub lead: Duration,
    /// The measured window.
    pub window: Duration,
    /// Seed of the arrivals of an open loop; the same for all targets of a round.
    pub seed: u64,
}

/// The open connections to one target. Dropped, it closes them.
pub trait ConnectionSet {
    /// Makes load for lead and window, then waits until every request has its reply or has timed out. The error, one line,
    /// ends the experiment: the load cannot be made at all.
    fn slice(&mut self, spec: &SliceSpec) -> Result<Measured, String>;

    /// Kernel ids of the threads that make the load.
    fn threads(&self) -> &[u32];

    /// Name of the protocol and connections asked for, as results have them.
    fn load(&self) -> &brunt_results::result::Load;
}

/// What a slice measured. Times of replies are in nanoseconds.
#[derive(Debug, Clone)]
pub struct Measured {
    /// Length of the window.
    pub window: Duration,
    /// From the start of the lead to the last reply.
    pub busy: Duration,
    /// Correct replies in the window.
    pub completed: u64,
    /// Replies, right or wrong, over lead, window and drain: every request between two idle moments.
    pub replies: u64,
    /// Requests that failed, over lead, window and drain.
    pub failed: u64,
    /// Requests in flight or due at the end of the window; an open loop counts those it could not send.
    pub unanswered: u64,
    pub errors: Errors,
    /// done - intended, of the window.
    pub response: Histogram<u64>,
    /// done - sent; `None` in a closed loop, where it equals `response` for every reply.
    pub service: Option<Histogram<u64>>,
    /// sent - intended, the generator's own lateness; `None` in a closed loop, where it is 0.
    pub lag: Option<Histogram<u64>>,
    /// CPU time of the load threads over lead, window and drain.
    pub cpu: Duration,
    /// CPU of the busiest load thread in the window without the time it spent waiting, in percent of a core.
    pub busiest_percent: f64,
    /// Payload bytes in the window.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Replies of the window by status; empty for protocols without one.
    pub statuses: Vec<(u16, u64)>,
}
