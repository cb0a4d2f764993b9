//! What one slice measured.

use crate::options::Options;
use brunt_results::result::{Connections, Errors};
use hdrhistogram::Histogram;
use std::time::Duration;

/// Times of replies are in nanoseconds.
#[derive(Debug, Clone)]
pub struct SliceReport {
    /// Length of the window: as ordered, unless a script has ended it.
    pub window: Duration,
    /// From the start of the lead to the last reply, or to the end of the window if nothing was in flight then.
    pub busy: Duration,
    /// Requests of an open loop that were due in the window.
    pub offered: Option<u64>,
    /// Correct replies in the window.
    pub completed: u64,
    /// Replies, right or wrong, over lead, window and drain.
    pub replies: u64,
    /// Requests that failed, over lead, window and drain.
    pub failed: u64,
    /// Requests in flight at the end of the window, and in an open loop those that were due and not sent.
    pub unanswered: u64,
    /// Errors by kind over lead, window and drain, those of connections without a request included.
    pub errors: Errors,
    /// done - intended, of requests of the window.
    pub response: Histogram<u64>,
    /// done - sent; `None` in a closed loop, where it equals `response` for every reply.
    pub service: Option<Histogram<u64>>,
    /// sent - intended, as far as the generator caused it; `None` in a closed loop, where it is 0.
    pub lag: Option<Histogram<u64>>,
    /// CPU time of the load threads over lead, window and drain.
    pub cpu: Duration,
    /// CPU of the busiest load thread in the window, without the time it spent waiting, in percent of a core.
    pub busiest_percent: f64,
    /// Payload bytes of the window.
    pub sent_bytes: u64,
    pub received_bytes: u64,
    /// Replies of the window by status, in order of status; empty for protocols without one.
    pub statuses: Vec<(u16, u64)>,
    /// Connections of the session so far.
    pub connections: Connections,
}

/// Requests due between `open` and `close` over all threads; `None` in a closed loop.
pub fn offered(options: &Options, seed: u64, [start, open, close]: [u64; 3]) -> Option<u64> {
    let schedules = (0..options.threads.len()).map(|thread| options.schedule(seed, options.share(thread)));
    let due = schedules.map(|schedule| {
        let mut schedule = schedule?;
        schedule.skip_to(open - start);
        Some(schedule.skip_to(close.saturating_sub(start)))
    });
    due.sum()
}
