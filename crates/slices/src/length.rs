//! Length of the slices of a load and of the lead before each. Pure.

use std::time::Duration;

/// Replies that a slice should have for its figures.
const REPLIES: f64 = 1000.0;
/// Replies of each connection that a slice should have.
const REPLIES_EACH: f64 = 2.0;
pub const LONGEST: Duration = Duration::from_secs(1);
/// Lengths are multiples of this, so that the starts of a load have the same.
const STEP: Duration = Duration::from_millis(50);
/// Caches, predictors and socket buffers of a target that idled are warm after this.
pub const LEAST_LEAD: Duration = Duration::from_millis(10);
/// Largest share of a slice that the lead takes.
const LEAD_SHARE: f64 = 0.25;

/// What a target did in an unmeasured slice.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pace {
    /// Replies a second.
    pub rate: f64,
    /// Median response time.
    pub p50: Duration,
}

/// Length of the measured window of every slice, and of its lead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lengths {
    pub window: Duration,
    pub lead: Duration,
}

/// Lengths for all targets of a load with `connections` each: at least `wanted`, longer where a target would give too few
/// replies, at most a second. In the lead every connection is answered once.
pub fn lengths(wanted: Duration, connections: u64, paces: &[Pace]) -> Lengths {
    let connections = connections as f64;
    let slowest = paces.iter().map(|pace| pace.rate).fold(f64::INFINITY, f64::min).max(1e-3);
    let seconds = (REPLIES.max(REPLIES_EACH * connections) / slowest).min(LONGEST.as_secs_f64());
    let window = match Duration::from_secs_f64(seconds) {
        enough if enough <= wanted => wanted,
        more => STEP * more.as_nanos().div_ceil(STEP.as_nanos()) as u32,
    };
    let once = Duration::from_secs_f64((connections / slowest).min(LONGEST.as_secs_f64()));
    let slow = paces.iter().map(|pace| pace.p50 * 3).max().unwrap_or_default();
    let most = window.mul_f64(LEAD_SHARE);
    Lengths { window, lead: LEAST_LEAD.max(once).max(slow).min(most) }
}
