//! Policies: from readings to what BE jobs may use. Pure: no clock, no input or output.

pub mod choice;
mod evidence;
mod fixed;
pub mod graded;
pub mod heracles;
pub mod koordinator;
pub mod limits;
pub mod parties;

use crate::allotment::Allotment;
use crate::readings::{Kinds, Readings};
use limits::Known;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// Decides at every tick; ticks are a fixed period apart, except where the controller was held up.
pub trait Policy: fmt::Debug + Send {
    /// `now` is the time since the start. The allotment holds until the next tick.
    fn decide(&mut self, now: Duration, readings: &Readings) -> Decision;

    /// Allotments that it has learned to be too much, of jobs of these kinds.
    fn limits(&self, _now: Duration) -> Vec<(Kinds, Known)> {
        Vec::new()
    }

    /// Forgets them.
    fn forget(&mut self) {}
}

/// What missing data of the LC service, or data older than the deadline, decide: [`Reason::Stale`], after three deadlines
/// [`Reason::Lost`].
fn staleness(now: Duration, readings: &Readings, deadline: Duration) -> Option<Reason> {
    let age = readings.requests.map_or(now.as_secs_f64(), |requests| requests.age);
    let deadline = deadline.as_secs_f64();
    if age > 3.0 * deadline {
        Some(Reason::Lost)
    } else {
        (age > deadline || readings.requests.is_none()).then_some(Reason::Stale)
    }
}

/// What BE jobs may use from now on, and why.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Decision {
    pub allotment: Allotment,
    pub reason: Reason,
}

impl Decision {
    /// Whether more evidence may give the jobs more: of frozen ones, time does.
    pub fn wants_evidence(self) -> bool {
        use Reason::{Grow, Hold, MemoryBandwidth, Shrink, Stale};
        matches!(self.reason, Stale | Shrink | Hold | Grow | MemoryBandwidth)
    }

    /// Whether it is the first of an emergency, after `last`.
    pub fn begins_emergency(self, last: Option<Self>) -> bool {
        self.reason == Reason::Emergency && last.is_none_or(|last| last.reason != Reason::Emergency)
    }
}

/// Why an allotment is what it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The policy does not react.
    Fixed,
    /// No data of the LC service so far, or its data are older than the deadline: the floor.
    Stale,
    /// Its data are older than three deadlines: frozen.
    Lost,
    /// More slow requests than the objective allows, beyond doubt: frozen for a while.
    Emergency,
    /// Frozen since an emergency.
    Cooldown,
    /// Requests fail at once, as of a service that restarts: frozen until they do not.
    Failing,
    /// Requests are slow, and the jobs used nothing meanwhile: they keep what they have.
    NotJobs,
    /// More slow requests than the objective allows: less.
    Shrink,
    /// The machine itself is slow; BE jobs do not grow meanwhile.
    SlowMachine,
    /// Within the objective, but not by enough for more.
    Hold,
    /// More.
    Grow,
    /// At the ceiling.
    Ceiling,
    /// More was too much before, at this load.
    KnownLimit,
    /// An operator has paused the jobs: frozen.
    Paused,
    /// The load of the LC service is too high for BE jobs.
    HighLoad,
    /// Memory bandwidth near its peak: fewer cores.
    MemoryBandwidth,
}

/// As in the audit log: `known-limit`.
impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.serialize(f)
    }
}
