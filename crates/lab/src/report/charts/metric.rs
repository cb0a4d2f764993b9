//! Figures shown in charts: scales, units and formatting.

use super::scale::Scale;
use crate::format;
use brunt_results::figure::{self, Figure, Unit};

/// A figure on an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric(pub &'static Figure);

impl Metric {
    pub const THROUGHPUT: Self = Self(&figure::RATE);
    pub const RESPONSE: Self = Self(&figure::P99);
    pub const CPU: Self = Self(&figure::CPU);
    pub const COST: Self = Self(&figure::COST);

    /// As titles begin.
    pub fn name(self) -> &'static str {
        self.0.title
    }

    pub fn scale(self, values: &[f64]) -> Scale {
        if self.0.is_response() {
            return Scale::fitting(values);
        }
        Scale::from_zero(values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max))
    }

    /// The unit of an axis, or `log scale`.
    pub fn unit(self, scale: &Scale) -> String {
        let unit = self.unit_of(scale).0;
        if scale.is_log { "log scale".to_owned() } else { unit.to_owned() }
    }

    /// Formats a tick; on a logarithmic scale with its unit.
    pub fn tick(self, scale: &Scale, value: f64) -> String {
        if scale.is_log {
            return round_time(value);
        }
        let divisor = self.unit_of(scale).1;
        let step = scale.step / divisor;
        // Steps are 1, 2 or 5 times a power of ten.
        let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{:.decimals$}", value / divisor)
    }

    pub fn value(self, value: f64) -> String {
        match self.0.unit {
            Unit::Rate if value >= 999.5 => format!("{:.1} k req/s", value / 1e3),
            Unit::Rate => format!("{value:.1} req/s"),
            Unit::Us if self.0.is_response() => format::time(Some(value)),
            Unit::Us => format!("{value:.2} us"),
            unit => format!("{value:.1} {}", unit.word()),
        }
    }

    /// Unit for the highest tick, with its factor.
    fn unit_of(self, scale: &Scale) -> (&'static str, f64) {
        let highest = scale.ticks.last().copied().unwrap_or(0.0);
        match self.0.unit {
            Unit::Rate if highest > 1e3 => ("k req/s", 1e3),
            Unit::Rate => ("req/s", 1.0),
            Unit::Us if !self.0.is_response() => ("us per request", 1.0),
            Unit::Us if highest > 2e6 => ("s", 1e6),
            Unit::Us if highest > 2e3 => ("ms", 1e3),
            unit => (unit.word(), 1.0),
        }
    }
}

/// A round number of microseconds in the largest unit not above it.
fn round_time(us: f64) -> String {
    let (value, unit) = match us {
        us if us >= 0.999e6 => (us / 1e6, "s"),
        us if us >= 0.999e3 => (us / 1e3, "ms"),
        us if us >= 0.999 => (us, "us"),
        us => (us * 1e3, "ns"),
    };
    format!("{value:.0} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_and_units_belong_together() {
        let told = |metric: Metric, values: &[f64]| {
            let scale = metric.scale(values);
            (
                metric.unit(&scale),
                scale.ticks.iter().map(|tick| metric.tick(&scale, *tick)).collect::<Vec<_>>().join(" "),
            )
        };
        assert_eq!(told(Metric::THROUGHPUT, &[98_300.0]), ("k req/s".into(), "0 20 40 60 80 100".into()));
        assert_eq!(told(Metric::THROUGHPUT, &[4.2]), ("req/s".into(), "0 1 2 3 4 5".into()));
        assert_eq!(told(Metric::RESPONSE, &[330.0, 2_900.0]), ("ms".into(), "0.0 0.5 1.0 1.5 2.0 2.5 3.0".into()));
        let log = "50 us 100 us 200 us 500 us 1 ms 2 ms 5 ms 10 ms";
        assert_eq!(told(Metric::RESPONSE, &[57.8, 8_090.0]), ("log scale".into(), log.into()));
        assert_eq!(told(Metric::COST, &[0.32]), ("us per request".into(), "0.0 0.1 0.2 0.3 0.4".into()));
        assert_eq!(told(Metric::CPU, &[230.0]).1, "0 50 100 150 200 250");
        assert_eq!(Metric::THROUGHPUT.value(999.9), "1.0 k req/s");
    }
}
