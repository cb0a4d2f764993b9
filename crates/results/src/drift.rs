//! Detects drift of throughput or median response time over a run's window. Pure, so that a stored series can be judged
//! again.
//!
//! Windows of fewer than [`MIN_SECONDS`] whole seconds are not judged: drift and noise cannot be told apart.

mod trend;
mod warmup;

pub use trend::{Trend, trend};
pub use warmup::warmup;

use crate::{series::Second, verdict::ValidityIssue};
use std::time::Duration;

/// Shortest window that is judged, in whole seconds.
pub const MIN_SECONDS: usize = 8;
/// Shortest limit of a warm-up that ends by rule: the seconds that are judged, and two to decide in.
pub const MIN_STEADY: Duration = Duration::from_secs(MIN_SECONDS as u64 + 2);
/// Minimum drift reported, first second to last, as a share of the median.
pub const DRIFT_SHARE: f64 = 0.1;
/// Minimum z score of a trend: two-sided p = 0.005 for each of two figures, 0.01 for both.
const MIN_Z: f64 = 2.807;
/// Minimum distance of a warm-up's mean from the rest, in standard deviations of single seconds: MSER also cuts a value of
/// plain noise now and then.
const MIN_DEVIATIONS: f64 = 4.0;
/// Most values tested for a trend, which takes quadratic time; a longer window is averaged down first.
const MAX_PIECES: usize = 240;

/// The drift of a series, if any. Ignores the warm-up and partial seconds.
pub fn check(seconds: &[Second]) -> Option<ValidityIssue> {
    let whole = whole(seconds);
    if whole.len() < MIN_SECONDS {
        return None;
    }
    let evidence = evidence(&whole);
    (!evidence.is_empty()).then(|| ValidityIssue::NotStationary { evidence: evidence.join("; ") })
}

/// Whether these whole seconds, of a warm-up as well, are enough to be judged and have no drift.
pub fn is_steady(seconds: &[Second]) -> bool {
    seconds.len() >= MIN_SECONDS && evidence(&seconds.iter().collect::<Vec<_>>()).is_empty()
}

fn evidence(seconds: &[&Second]) -> Vec<String> {
    let rates = seconds.iter().map(|second| second.completed as f64).collect();
    let medians: Option<Vec<f64>> = seconds.iter().map(|second| second.p50_us).collect();
    [("throughput", Some(rates)), ("the median response time", medians)]
        .into_iter()
        .filter_map(|(what, values)| drift(what, &values?))
        .collect()
}

/// The whole seconds of the measured window.
fn whole(seconds: &[Second]) -> Vec<&Second> {
    let starts = std::iter::once(0.0).chain(seconds.iter().map(|second| second.at_s));
    let lengths = seconds.iter().zip(starts).map(|(second, start)| (second, second.at_s - start));
    lengths.filter(|(second, length)| !second.warmup && *length > 0.95).map(|(second, _)| second).collect()
}

/// Describes a warm-up inside the window, else a trend over all of it.
fn drift(what: &str, values: &[f64]) -> Option<String> {
    warm_up(what, values).or_else(|| monotone_trend(what, values))
}

fn warm_up(what: &str, values: &[f64]) -> Option<String> {
    let (first, rest) = values.split_at(warmup(values)?);
    let (early, usual) = (mean(first), mean(rest));
    let squares: f64 = rest.iter().map(|value| (value - usual).powi(2)).sum();
    let deviation = (squares / (rest.len() as f64 - 1.0)).sqrt();
    let share = early / usual - 1.0;
    if first.is_empty() || (early - usual).abs() < MIN_DEVIATIONS * deviation || share.abs() < DRIFT_SHARE {
        return None;
    }
    let side = if share > 0.0 { "above" } else { "below" };
    let (count, percent) = (first.len(), share.abs() * 100.0);
    Some(format!("{what} of the first {count} s was {percent:.0} % {side} that of the rest, as in a warm-up"))
}

fn monotone_trend(what: &str, values: &[f64]) -> Option<String> {
    let pieces = means(values, values.len().div_ceil(MAX_PIECES));
    let trend = trend(&pieces)?;
    let share = trend.slope * (pieces.len() - 1) as f64 / trend.median;
    if trend.z.abs() < MIN_Z || !share.is_finite() || share.abs() < DRIFT_SHARE {
        return None;
    }
    let verb = if share > 0.0 { "rose" } else { "fell" };
    Some(format!("{what} {verb} by {:.0} % over the {} s of the window", share.abs() * 100.0, values.len()))
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// Means of consecutive chunks of `size` values; drops an incomplete last chunk.
fn means(values: &[f64], size: usize) -> Vec<f64> {
    values.chunks_exact(size.max(1)).map(mean).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::verdict::Kind;

    /// One second of warm-up, then these rates, then a partial second.
    fn series(rates: impl IntoIterator<Item = f64>) -> Vec<Second> {
        let mut seconds = vec![Second { at_s: 1.0, warmup: true, completed: 1, ..Default::default() }];
        for (number, rate) in rates.into_iter().enumerate() {
            let p50_us = Some(8e6 / rate);
            seconds.push(Second { at_s: number as f64 + 2.0, completed: rate as u64, p50_us, ..Default::default() });
        }
        let last = seconds.last().map_or(0.0, |second| second.at_s);
        seconds.push(Second { at_s: last + 0.3, completed: 7, ..Default::default() });
        seconds
    }

    /// Deterministic noise from -1 to 1.
    fn noise(number: usize) -> f64 {
        ((number as f64 * 12.9898).sin() * 43_758.547).fract()
    }

    #[test]
    fn a_slowdown_and_a_warm_up_are_reported_and_noise_and_small_or_short_drifts_are_not() {
        let slower = series((0..20).map(|second| 10_000.0 * (1.0 - 0.01 * second as f64) + 100.0 * noise(second)));
        let issue = check(&slower).unwrap();
        assert_eq!(issue.kind(), Kind::NotStationary);
        let why = issue.evidence();
        assert!(why.starts_with("throughput fell by 2") && why.contains("; the median response time rose by"), "{why}");
        let caching = series((0..20).map(|second| match second {
            0..6 => 6_000.0 + 500.0 * second as f64,
            _ => 10_000.0 + 50.0 * noise(second),
        }));
        let why = check(&caching).unwrap().evidence();
        assert!(why.starts_with("throughput of the first 6 s was 28 % below that of the rest"), "{why}");
        assert_eq!(check(&series((0..30).map(|second| 10_000.0 * (1.0 + 0.2 * noise(second))))), None);
        assert_eq!(check(&series((0..30).map(|second| 10_000.0 * (1.0 + 0.002 * second as f64)))), None);
        assert_eq!(check(&series((0..7).map(|second| 10_000.0 * (1.0 + 0.1 * second as f64)))), None);
        assert_eq!(check(&series((0..30).map(|_| 20_000.0))), None);
        assert_eq!(check(&[]), None);
        let day = series((0..86_400).map(|second| 10_000.0 * (1.0 + second as f64 / 86_400.0)));
        assert!(check(&day).is_some());
    }
}
