//! Reports of the threads of one part, bundled by the second in which they were made.

use crate::engine::message::Message;
use crate::measure::interval::Phase;
use crate::measure::recorder::SECOND_NS;
use crate::processes::Report;
use serde::{Deserialize, Serialize};

/// What a part tells of a second.
#[derive(Serialize, Deserialize)]
pub struct Second {
    /// Start of the load, and end of its window as far as it is decided, on the clock of the part.
    pub start_ns: u64,
    pub close_ns: u64,
    pub reports: Vec<Report>,
}

impl Second {
    /// Whether it is the last one.
    pub fn is_last(&self) -> bool {
        self.reports.iter().any(|report| matches!(report, Report::Done { .. }))
    }
}

/// Bundles reports. Second 0 begins with the load; the last one has all that comes after its begin, and is given by [`Self::rest`].
#[derive(Default)]
pub struct Seconds {
    /// Number of the next one.
    next: u64,
    first: usize,
    /// End of the newest interval of each thread.
    ends_ns: Vec<u64>,
    /// Threads whose last interval has come.
    drained: usize,
    pending: Vec<Report>,
}

impl Seconds {
    /// For the threads from `first` on.
    pub fn new(first: usize, threads: usize) -> Self {
        Self { first, ends_ns: vec![0; threads], ..Self::default() }
    }

    pub fn add(&mut self, report: Report) {
        if let Report::Thread(thread, Message::Interval(interval)) = &report
            && let Some(end) = self.ends_ns.get_mut(thread - self.first)
        {
            *end = interval.end_ns;
            self.drained += usize::from(interval.phase == Phase::Drain);
        }
        self.pending.push(report);
    }

    /// Whether all threads have sent their last interval.
    pub fn have_drained(&self) -> bool {
        self.drained == self.ends_ns.len()
    }

    /// The next second with its number, once all threads have reported it and another one follows before `close_ns`. The load
    /// began at `start_ns`; 0 before that.
    pub fn next(&mut self, [start_ns, close_ns]: [u64; 2]) -> Option<(u64, Vec<Report>)> {
        let end_ns = start_ns + (self.next + 1) * SECOND_NS;
        let is_whole = end_ns < close_ns && start_ns > 0 && self.ends_ns.iter().all(|end| *end >= end_ns);
        is_whole.then(|| self.take())
    }

    /// The last second.
    pub fn rest(mut self) -> (u64, Vec<Report>) {
        self.take()
    }

    fn take(&mut self) -> (u64, Vec<Report>) {
        self.next += 1;
        (self.next - 1, std::mem::take(&mut self.pending))
    }
}
