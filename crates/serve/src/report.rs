//! Totals of a server.

use brunt_results::Span;
use serde::{Deserialize, Serialize};
use std::{fmt, io, ops::Add, time::Duration};

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub accepted: u64,
    /// Connections that ended in an error other than a reset by the peer.
    pub failed: u64,
    /// Connections closed at the end of the grace time.
    pub cut: u64,
}

impl Add for Counts {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (accepted, failed) = (self.accepted + other.accepted, self.failed + other.failed);
        Self { accepted, failed, cut: self.cut + other.cut }
    }
}

/// Whether this error counts as a failure. A reset does not: a client may reset at any time.
pub(crate) fn is_failure(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::ConnectionReset
}

/// Queueing times of requests.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Requests taken from the queue.
    pub count: u64,
    pub total: Duration,
    pub longest: Duration,
}

impl Add for Waits {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        let (count, total) = (self.count + other.count, self.total + other.total);
        Self { count, total, longest: self.longest.max(other.longest) }
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Rounded to microseconds, the useful precision of the clock.
        let micros = |nanos: u128| Span(Duration::from_micros((nanos / 1000) as u64));
        let mean = micros(self.total.as_nanos() / u128::from(self.count.max(1)));
        let longest = micros(self.longest.as_nanos());
        write!(f, "{} requests waited for a thread: {mean} on average, {longest} at most", self.count)
    }
}
