//! Figures that are computed from other keys of a result: their part of `result.json`, and why one is absent.

use super::{Figure, all};
use crate::result::RunResult;

/// The computed figures, each with the reason for its absence.
pub fn computed() -> impl Iterator<Item = (&'static Figure, fn(&RunResult) -> &'static str)> {
    all().filter_map(|figure| Some((figure, figure.computed?)))
}

/// A result as it is written: with the computed figures.
pub fn written(result: &RunResult) -> RunResult {
    let figures = computed().map(|(figure, _)| (figure.key.to_owned(), (figure.of)(result)));
    RunResult { figures: figures.collect(), ..result.clone() }
}

/// The key of each absent one in `env.json`, with the reason.
pub fn absent(result: &RunResult) -> impl Iterator<Item = (String, String)> {
    let absent = computed().filter(|(figure, _)| (figure.of)(result).is_none());
    absent.map(|(figure, why)| (format!("figures.{}", figure.key), why(result).to_owned()))
}
