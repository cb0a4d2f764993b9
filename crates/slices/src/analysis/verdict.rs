//! The answer on one figure.

use super::within::Within;
use brunt_results::comparison::{CHANCE, Ratio, Verdict};
use brunt_results::figure::RATE;

/// CPU of the generator's busiest thread, and of a target for each core, from which it is full, in percent of a core.
const FULL: f64 = 95.0;
/// Half widths of 2.1 standard errors of the mean of `n` differences are about `2.14 sigma / sqrt(n)`: Hodges-Lehmann has 1.05
/// times the variance of a mean of normal values.
const WIDTH: f64 = 2.14;
/// Larger estimates of the rounds needed are not reported.
const MOST_ROUNDS: f64 = 100_000.0;

pub struct Evidence<'a> {
    pub ratio: &'a Ratio,
    pub within: &'a Within,
    /// Failed requests of target and baseline.
    pub failed: u64,
    /// Of the faster one of target and baseline.
    pub generator_percent: f64,
    /// CPU of the faster one, in percent of a core; absent if it or its cores are unknown.
    pub server_percent: Option<f64>,
    pub server_cores: usize,
    pub too_many_void: bool,
}

/// The first that applies: errors, a full generator, inside the margin, excludes 1, neither.
pub fn of(evidence: &Evidence, margin: f64, precision: f64) -> Verdict {
    let ratio = evidence.ratio;
    if evidence.failed > 0 {
        return Verdict::Errors;
    }
    // With both full the closed loop is balanced: the target was driven to its limit.
    let is_driven = evidence.server_percent.is_some_and(|percent| percent >= FULL * evidence.server_cores as f64);
    if *ratio.figure == RATE && evidence.generator_percent >= FULL && !is_driven {
        return Verdict::ClientLimited;
    }
    if ratio.is_within(margin) {
        return Verdict::NoDifference;
    }
    let (low, high, margin, precision) = (ratio.low.ln(), ratio.high.ln(), margin.ln_1p(), precision.ln_1p());
    if (low > 0.0 || high < 0.0) && ratio.p_adjusted <= CHANCE {
        return Verdict::Different;
    }
    let half = (high - low) / 2.0;
    if half > precision || evidence.too_many_void {
        return Verdict::Imprecise { needed: rounds_for(precision, half, evidence.within) };
    }
    // Either half the margin, which then fits into it, or what excludes 1.
    let room = (margin / 2.0).max(ratio.ratio.ln().abs());
    Verdict::CannotTell { needed: rounds_for(room, half, evidence.within) }
}

/// Rounds until the half width is `wanted`, now that it is `half`; `None` if the spread between starts alone is wider.
fn rounds_for(wanted: f64, half: f64, within: &Within) -> Option<usize> {
    let fixed = (half * half - within.half().powi(2)).max(0.0);
    let room = wanted * wanted - fixed;
    let now = within.rounds();
    let rounds = (WIDTH * within.sigma()).powi(2) / room;
    (room > 0.0 && rounds <= MOST_ROUNDS).then(|| (rounds.ceil() as usize).max(now + now / 10 + 4))
}

/// Rounds until the half width within starts is `wanted`.
pub fn rounds_for_half(wanted: f64, within: &Within) -> usize {
    let sigma = within.sigma().max(within.standard_error() * (within.rounds() as f64).sqrt());
    (WIDTH * sigma / wanted).powi(2).ceil() as usize
}
