//! Curve of a response time and the answered rate over the offered rate, with a bound and the interval of its limit.

use crate::format::time;
use crate::report::knee_point::KneePoint;
use brunt_results::Rate;

#[derive(Debug, Clone, PartialEq)]
pub struct Knee {
    /// Name of the figure that is shown, such as `p99`.
    pub figure: String,
    /// Its bound, if the SLO has one.
    pub bound_us: Option<f64>,
    /// In the order of their rates.
    pub points: Vec<KneePoint>,
    /// Highest rate that holds, and lowest that breaks.
    pub interval: (Option<f64>, Option<f64>),
}

impl Knee {
    pub fn description(&self) -> String {
        let point = |point: &KneePoint| {
            let rate = Rate(point.offered.round());
            format!("{} {} at {rate}/s, {}", self.figure, time(point.time_us), Rate(point.answered.round()))
        };
        let points: Vec<String> = self.points.iter().map(point).collect();
        format!("{}; answered rates after the commas.", points.join("; "))
    }
}
