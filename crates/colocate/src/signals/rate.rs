//! A figure that only grows, as a rate, and when to read it.

use crate::readings::Reading;
use std::time::{Duration, Instant};

/// What it grew by in a second, in the newest window and in the mean of all.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Rate {
    last: Option<(Instant, f64)>,
    /// End of the newest window.
    newest: Option<(Instant, f64)>,
    sum: f64,
    seconds: f64,
}

impl Rate {
    /// Ends a window with the figure of now. `None`, where it could not be read, and a figure that fell end a window without a
    /// rate.
    pub(super) fn add(&mut self, now: Instant, total: Option<f64>) {
        let last = self.last;
        if last.is_some_and(|(begin, _)| now <= begin) {
            return;
        }
        self.last = total.map(|total| (now, total));
        self.newest = last.zip(total).filter(|((_, before), total)| total >= before).map(|((begin, before), total)| {
            let seconds = now.duration_since(begin).as_secs_f64();
            self.sum += total - before;
            self.seconds += seconds;
            (now, (total - before) / seconds)
        });
    }

    pub(super) fn reading(&self, now: Instant) -> Option<Reading<f64>> {
        let (end, value) = self.newest?;
        Some(Reading::until(end, value, now))
    }

    /// Windows so far do not count in the mean.
    pub(super) fn begin_mean(&mut self) {
        (self.sum, self.seconds) = (0.0, 0.0);
    }

    /// Over all windows since the begin.
    pub(super) fn mean(&self) -> Option<f64> {
        (self.seconds > 0.0).then(|| self.sum / self.seconds)
    }
}

/// Whether a period has passed since the last time, which is now if so.
pub(super) fn is_due(last: &mut Option<Instant>, now: Instant, period: Duration) -> bool {
    let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= period);
    if is_due {
        *last = Some(now);
    }
    is_due
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn only_windows_with_both_ends_count(
            samples in proptest::collection::vec((1..500u64, proptest::option::of(0.0..100.0f64)), 2..50),
        ) {
            let (mut rate, mut now) = (Rate::default(), crate::clock::now());
            let (mut grown, mut seconds, mut last): (f64, f64, Option<f64>) = (0.0, 0.0, None);
            for (ms, total) in samples {
                now += Duration::from_millis(ms);
                rate.add(now, total);
                let window = last.zip(total).filter(|(before, total)| total >= before);
                // Repeated at the same moment, it changes nothing.
                rate.add(now, Some(1e9));
                let later = now + Duration::from_millis(20);
                prop_assert_eq!(rate.reading(later).is_some(), window.is_some());
                if let Some((before, total)) = window {
                    grown += total - before;
                    seconds += ms as f64 / 1e3;
                    let Reading { value, age } = rate.reading(later).unwrap();
                    prop_assert!((value - (total - before) * 1e3 / ms as f64).abs() < 1e-6 && (age - 0.02).abs() < 1e-9);
                }
                last = total;
                let mean = (seconds > 0.0).then(|| grown / seconds);
                prop_assert!((rate.mean().unwrap_or(-1.0) - mean.unwrap_or(-1.0)).abs() < 1e-6);
            }
        }
    }
}
