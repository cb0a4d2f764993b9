//! Estimates how long trials take.

use super::{Schedule, order::ScheduledTrial};
use std::time::Duration;

/// Time of a trial beside its load, assumed until one has run: start, connect, drain, stop.
const OVERHEAD: Duration = Duration::from_millis(300);

/// Learns how long trials take beside their load.
#[derive(Debug, Default)]
pub struct Estimator {
    overhead: Duration,
    trials: u32,
}

impl Estimator {
    /// Adds trials that took this much longer than their load.
    pub fn observe(&mut self, overhead: Duration, trials: usize) {
        self.overhead += overhead;
        self.trials += trials as u32;
    }

    pub fn time(&self, schedule: &Schedule, trials: &[ScheduledTrial]) -> Duration {
        let load: Duration = trials.iter().map(|trial| schedule.cell(*trial).load_time()).sum();
        load + self.overhead.checked_div(self.trials).unwrap_or(OVERHEAD) * trials.len() as u32
    }
}

/// A duration rounded for reading: `45 s`, `3 min 20 s`, `2 h 5 min`.
pub fn format_duration(time: Duration) -> String {
    let s = time.as_secs_f64().round() as u64;
    match (s / 3600, s / 60 % 60, s % 60) {
        (0, 0, s) => format!("{s} s"),
        (0, min, 0) => format!("{min} min"),
        (0, min, s) if min < 10 => format!("{min} min {s} s"),
        (0, min, _) => format!("{min} min"),
        (h, 0, _) => format!("{h} h"),
        (h, min, _) => format!("{h} h {min} min"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_rounded_for_reading() {
        let format = |s: u64| format_duration(Duration::from_secs(s));
        assert_eq!(format(45), "45 s");
        assert_eq!(format(60), "1 min");
        assert_eq!(format(200), "3 min 20 s");
        assert_eq!(format(1234), "20 min");
        assert_eq!(format(7500), "2 h 5 min");
    }
}
