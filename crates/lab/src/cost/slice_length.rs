//! Finds the length of the slices: pairs of slices of a length and of twice the length, on every target in turn.

use super::State;
use super::report::Length;
use crate::clock;
use crate::slices::points::TargetAtRate;
use crate::slices::rounds::Rounds;
use brunt_results::Error;
use brunt_slices::cost::length::{self, Next, judge};
use brunt_slices::cost::{CostSlice, Settings};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// The first length that twice of it does not change CPU time a request, as far as some pairs of slices show it until then.
pub(super) fn find(
    rounds: &mut Rounds,
    settings: &Settings,
    until: Instant,
    stop: &AtomicBool,
    observe: &mut dyn FnMut(&State),
) -> Result<Length, Error> {
    let mut slice = length::FIRST;
    let Some(rate) = length::rate_of(&settings.rates) else { return Ok(Length::set(slice)) };
    loop {
        observe(&State::Lengths(slice));
        let mut pairs: Vec<(&str, Vec<f64>)> =
            settings.targets.iter().map(|target| (target.as_str(), Vec::new())).collect();
        loop {
            let made = rounds.round_at_rates(&wanted(settings, rate, slice), stop).map_err(Error::Failed)?;
            for (target, ratios) in &mut pairs {
                ratios.extend(ratio(&made, target, slice));
            }
            // Targets that were taken out have no more pairs.
            pairs.retain(|(target, _)| rounds.has(target));
            let is_over = clock::now() >= until || stop.load(Ordering::Relaxed);
            match judge(slice, &pairs, is_over) {
                Next::More => {}
                Next::Longer => break,
                Next::Enough(change) => return Ok(Length::found(slice, rate, change)),
            }
        }
        slice *= 2;
    }
}

/// A slice of the length and one of twice the length, of each target.
fn wanted(settings: &Settings, rate: f64, slice: Duration) -> Vec<(TargetAtRate, Duration)> {
    let both = |target: &String| [slice, 2 * slice].map(|length| ((target.clone(), rate), length));
    settings.targets.iter().flat_map(both).collect()
}

/// Logarithm of CPU time a request in the long slice of a target over that in its short one.
fn ratio(made: &[CostSlice], target: &str, slice: Duration) -> Option<f64> {
    let is_long = |made: &CostSlice| made.slice.window_us as f64 > 1.4 * slice.as_secs_f64() * 1e6;
    let of = |long: bool| {
        let found = made.iter().find(|made| made.slice.target == target && is_long(made) == long)?;
        found.slice.cpu_us_per_request().filter(|_| !found.slice.is_void())
    };
    Some((of(true)? / of(false)?).ln()).filter(|ratio| ratio.is_finite())
}
