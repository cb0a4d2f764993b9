//! A point of the curve of a response time and the answered rate over the offered rate, and what its rate is called.

/// A p99 this many times that of the low rates is beyond the knee.
pub const KNEE_FACTOR: f64 = 5.0;

/// What is known of a rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mark {
    Holds,
    Breaks,
    Unclear,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KneePoint {
    /// Requests a second.
    pub offered: f64,
    pub answered: f64,
    pub time_us: Option<f64>,
    pub mark: Mark,
}
