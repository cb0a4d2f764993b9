//! What a server has served.

use brunt_results::Span;
use serde::{Deserialize, Serialize};
use std::{
    fmt, io,
    ops::{Add, AddAssign},
    time::Duration,
};

/// Totals of a server's life.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Connections accepted.
    pub accepted: u64,
    /// Connections that ended in an error, resets by the peer aside.
    pub failed: u64,
    /// Connections still open when the grace time was over, and closed then.
    pub cut: u64,
}

impl Add for Counts {
    type Output = Self;
    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Self) {
        self.accepted += other.accepted;
        self.failed += other.failed;
        self.cut += other.cut;
    }
}

/// Whether a connection that ended in this error has failed: a client may reset it at any time.
pub(crate) fn is_failure(error: &io::Error) -> bool {
    error.kind() != io::ErrorKind::ConnectionReset
}

/// How long requests have waited in a queue for a thread to serve them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Waits {
    /// Requests that were taken out of the queue.
    pub count: u64,
    /// All their waiting together.
    pub total: Duration,
    /// The longest of them.
    pub longest: Duration,
}

impl Waits {
    pub(crate) fn add(&mut self, wait: Duration) {
        *self += Self { count: 1, total: wait, longest: wait };
    }
}

impl AddAssign for Waits {
    fn add_assign(&mut self, other: Self) {
        self.count += other.count;
        self.total += other.total;
        self.longest = self.longest.max(other.longest);
    }
}

impl fmt::Display for Waits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // To the microsecond: what is finer is the clock's.
        let micros = |nanos: u128| Span(Duration::from_micros((nanos / 1000) as u64));
        let mean = micros(self.total.as_nanos() / u128::from(self.count.max(1)));
        write!(
            f,
            "{} requests waited for a thread: {mean} on average, {} at most",
            self.count,
            micros(self.longest.as_nanos())
        )
    }
}
