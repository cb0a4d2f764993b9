//! The figures that charts show: their names, their units, and numbers in them.

use super::scale::Scale;
use crate::format;

/// A figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Metric {
    /// Completed requests per second.
    Throughput,
    /// Response time, in microseconds.
    Response,
    /// CPU of the server, user and kernel; 100 is one core.
    Cpu,
    /// CPU time of the server for a request, in microseconds.
    Cost,
}

impl Metric {
    /// The axis it needs.
    pub fn scale(self, values: &[f64]) -> Scale {
        match self {
            Self::Response => Scale::fitting(values),
            _ => Scale::from_zero(values.iter().copied().filter(|v| v.is_finite()).fold(0.0, f64::max)),
        }
    }

    /// What stands at an axis of that scale: the unit, and that it is logarithmic if it is.
    pub fn unit(self, scale: &Scale) -> String {
        let unit = self.unit_of(scale).0;
        if scale.is_log() { "log scale".to_owned() } else { unit.to_owned() }
    }

    /// A tick of that scale; the axis names the unit, unless it differs from tick to tick.
    pub fn tick(self, scale: &Scale, value: f64) -> String {
        if scale.is_log() {
            return round_time(value);
        }
        let divisor = self.unit_of(scale).1;
        let step = scale.step / divisor;
        // The step is 1, 2 or 5 of some decade.
        let decimals = (-step.log10().floor()).clamp(0.0, 6.0) as usize;
        format!("{:.decimals$}", value / divisor)
    }

    /// A value with its unit.
    pub fn value(self, value: f64) -> String {
        match self {
            Self::Throughput if value >= 999.5 => format!("{:.1} k req/s", value / 1e3),
            Self::Throughput => format!("{value:.1} req/s"),
            Self::Response => format::time(Some(value)),
            Self::Cpu => format!("{value:.1} %"),
            Self::Cost => format!("{value:.2} us"),
        }
    }

    /// A unit in which the highest tick is a small number, and how many base units it has.
    fn unit_of(self, scale: &Scale) -> (&'static str, f64) {
        let highest = scale.ticks.last().copied().unwrap_or(0.0);
        match self {
            Self::Throughput if highest > 1e3 => ("k req/s", 1e3),
            Self::Throughput => ("req/s", 1.0),
            Self::Response if highest > 2e6 => ("s", 1e6),
            Self::Response if highest > 2e3 => ("ms", 1e3),
            Self::Response => ("us", 1.0),
            Self::Cpu => ("%", 1.0),
            Self::Cost => ("us per request", 1.0),
        }
    }
}

/// A round number of microseconds in the largest unit that it has one of.
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
        assert_eq!(told(Metric::Throughput, &[98_300.0]), ("k req/s".into(), "0 20 40 60 80 100".into()));
        assert_eq!(told(Metric::Throughput, &[4.2]), ("req/s".into(), "0 1 2 3 4 5".into()));
        assert_eq!(told(Metric::Response, &[330.0, 2_900.0]), ("ms".into(), "0.0 0.5 1.0 1.5 2.0 2.5 3.0".into()));
        let log = "50 us 100 us 200 us 500 us 1 ms 2 ms 5 ms 10 ms";
        assert_eq!(told(Metric::Response, &[57.8, 8_090.0]), ("log scale".into(), log.into()));
        assert_eq!(told(Metric::Cost, &[0.32]), ("us per request".into(), "0.0 0.1 0.2 0.3 0.4".into()));
        assert_eq!(told(Metric::Cpu, &[230.0]).1, "0 50 100 150 200 250");
        assert_eq!(Metric::Throughput.value(999.9), "1.0 k req/s");
    }
}
