//! Offset between the clocks of two machines, with a bound on its error.
//!
//! In an exchange the coordinator sends at t1 and has the answer at t4, by its clock; the agent receives at t2 and answers at
//! t3, by its own. Then offset = agent - coordinator = ((t2 - t1) + (t3 - t4)) / 2. Its error is at most
//! (t4 - t1 - (t3 - t2)) / 2, however the delay is split between the two ways (RFC 5905).
//!
//! Invariants, for clocks that each run at most 50 ppm too fast or too slow:
//! - The true offset lies within the bound of every estimate, at any later or earlier time, whatever was delayed, lost or
//!   reordered.
//! - Conversions contain the true time between their earliest and latest.

use crate::SECOND_NS;
use serde::{Deserialize, Serialize};

/// Growth of a bound, in nanoseconds a second: 100 ppm. Two clocks that are each 50 ppm off, in opposite directions, differ by
/// (1 + 50e-6) / (1 - 50e-6) - 1 = 100.005 ppm.
pub const DRIFT_PPB: i64 = 100_010;

/// Clocks are read in whole nanoseconds: four times in an exchange, and twice more where its estimate is used.
const ROUNDING_NS: i64 = 4;

/// Exchanges among which the anchor of the drift is chosen: those of a synchronisation before the run.
const ANCHORS: u64 = 64;

/// Times of one question and its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Exchange {
    /// Question sent, on the coordinator's clock.
    pub sent: i64,
    /// Question received, on the agent's clock.
    pub received: i64,
    /// Answer sent, on the agent's clock.
    pub answered: i64,
    /// Answer received, on the coordinator's clock.
    pub returned: i64,
}

impl Exchange {
    /// The estimate that this exchange alone gives; `None` if no two clocks can have read these times.
    pub fn estimate(&self) -> Option<Estimate> {
        let away = i128::from(self.returned) - i128::from(self.sent);
        let held = i128::from(self.answered) - i128::from(self.received);
        // While the question is held the clocks drift apart, so that the offset is another when the answer leaves.
        let drift = growth(i64::try_from(held).ok()?);
        let travel = away - held;
        if away < 0 || held < 0 || travel < -i128::from(drift + ROUNDING_NS) {
            return None;
        }
        let there = i128::from(self.received) - i128::from(self.sent);
        let back = i128::from(self.answered) - i128::from(self.returned);
        let bound = (travel.max(0) + 1) / 2 + i128::from(drift + ROUNDING_NS);
        let offset_ns = i64::try_from((there + back).div_euclid(2)).ok()?;
        Some(Estimate { offset_ns, bound_ns: i64::try_from(bound).ok()?, at_ns: self.received })
    }

    /// Time that the messages were on their way, both ways together, in nanoseconds; 0 if it is less than the clocks can tell.
    pub fn round_trip(&self) -> i64 {
        self.returned.saturating_sub(self.sent).saturating_sub(self.answered.saturating_sub(self.received)).max(0)
    }
}

/// An offset, and by how much it may be wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Estimate {
    /// Agent's clock minus coordinator's clock.
    pub offset_ns: i64,
    /// Largest error at `at_ns`; it grows by [`DRIFT_PPB`] before and after.
    pub bound_ns: i64,
    /// When it was measured, on the agent's clock.
    pub at_ns: i64,
}

/// A time of one clock as it may be on the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    /// No earlier than this.
    pub earliest: i64,
    /// No later than this.
    pub latest: i64,
}

impl Estimate {
    /// Largest error of the offset at a time of the agent's clock.
    pub fn bound_at(&self, agent: i64) -> i64 {
        self.bound_ns.saturating_add(growth(agent.saturating_sub(self.at_ns)))
    }

    /// Largest error of the offset at a time of the coordinator's clock.
    pub fn bound_at_coordinator(&self, coordinator: i64) -> i64 {
        let age = self.agent(coordinator).saturating_sub(self.at_ns).saturating_abs();
        // The age depends on the offset, whose error it bounds: each pass is off by a ten-thousandth of what the last was off by.
        let pass = |bound: i64, _| self.bound_ns.saturating_add(growth(age.saturating_add(bound)));
        (0..4).fold(self.bound_ns, pass).saturating_add(ROUNDING_NS)
    }

    /// The agent's clock at a time of the coordinator's, as far as known.
    pub fn agent(&self, coordinator: i64) -> i64 {
        coordinator.saturating_add(self.offset_ns)
    }

    /// The coordinator's clock at a time of the agent's, as far as known.
    pub fn coordinator(&self, agent: i64) -> i64 {
        agent.saturating_sub(self.offset_ns)
    }

    /// What the agent's clock can read at a time of the coordinator's.
    pub fn at_agent(&self, coordinator: i64) -> Span {
        Span::around(self.agent(coordinator), self.bound_at_coordinator(coordinator))
    }

    /// What the coordinator's clock can read at a time of the agent's.
    pub fn at_coordinator(&self, agent: i64) -> Span {
        Span::around(self.coordinator(agent), self.bound_at(agent))
    }
}

impl Span {
    fn around(middle: i64, bound: i64) -> Self {
        Self { earliest: middle.saturating_sub(bound), latest: middle.saturating_add(bound) }
    }
}

/// What the exchanges with one agent have told of its clock.
#[derive(Debug, Clone, Default)]
pub struct Clock {
    best: Option<Estimate>,
    /// The best of the first ones.
    anchor: Option<Estimate>,
    drift: Option<Drift>,
    exchanges: u64,
    round_trip: Option<i64>,
}

/// Growth of the offset.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Drift {
    /// Nanoseconds a millisecond of the agent's clock: positive if that clock runs faster than the coordinator's.
    pub ppm: f64,
    /// Largest error.
    pub bound_ppm: f64,
}

impl Clock {
    /// Takes one exchange; returns whether it was possible. Exchanges may be missing, and come in any order.
    pub fn add(&mut self, exchange: &Exchange) -> bool {
        let Some(new) = exchange.estimate() else { return false };
        self.exchanges += 1;
        let round_trip = exchange.round_trip();
        self.round_trip = Some(self.round_trip.map_or(round_trip, |least| least.min(round_trip)));
        let is_worse = |best: &Estimate| {
            let later = best.at_ns.max(new.at_ns);
            best.bound_at(later) <= new.bound_at(later)
        };
        if !self.best.as_ref().is_some_and(is_worse) {
            self.best = Some(new);
        }
        match self.anchor {
            Some(anchor) if self.exchanges > ANCHORS || anchor.bound_ns <= new.bound_ns => {
                let drift = Drift::between(&anchor, &new);
                let is_better = |new: &Drift| self.drift.is_none_or(|old| new.bound_ppm < old.bound_ppm);
                self.drift = drift.filter(is_better).or(self.drift);
            }
            _ => (self.anchor, self.drift) = (Some(new), None),
        }
        true
    }

    /// The exchange whose bound is the least now.
    pub fn estimate(&self) -> Option<Estimate> {
        self.best
    }

    /// Growth of the offset; `None` until two exchanges are a second apart.
    pub fn drift(&self) -> Option<Drift> {
        self.drift
    }

    /// Exchanges taken.
    pub fn exchanges(&self) -> u64 {
        self.exchanges
    }

    /// Least time that the messages of an exchange were on their way, in nanoseconds.
    pub fn round_trip(&self) -> Option<i64> {
        self.round_trip
    }
}

impl Drift {
    fn between(first: &Estimate, second: &Estimate) -> Option<Self> {
        let apart = second.at_ns.checked_sub(first.at_ns)?;
        let change = second.offset_ns.checked_sub(first.offset_ns)?;
        let error = first.bound_ns.checked_add(second.bound_ns)?;
        let ppm = |offset: i64| offset as f64 / apart as f64 * 1e6;
        (apart.saturating_abs() >= SECOND_NS).then(|| Self { ppm: ppm(change), bound_ppm: ppm(error).abs() })
    }
}

/// By how much two clocks can have drifted apart in so long, rounded up.
fn growth(age: i64) -> i64 {
    let drifted = (i128::from(age).abs() * i128::from(DRIFT_PPB) + i128::from(SECOND_NS) - 1) / i128::from(SECOND_NS);
    i64::try_from(drifted).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
