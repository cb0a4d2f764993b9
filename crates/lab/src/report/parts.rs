//! Parts of the load of a row: its named requests, the steps of a rate that changes, and the agents that made it. They are those of the repeat with the
//! median throughput: percentiles are not averaged.

use super::knee_point::{KNEE_FACTOR, KneePoint, Mark};
use crate::format;
use brunt_results::RunResult;
use brunt_results::result::RATE_TOLERANCE;
use brunt_results::result::{Fleet, Named, Step};
use brunt_statistics::median;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct Parts {
    pub names: Vec<Named>,
    pub steps: Vec<Step>,
    /// The agents that made the load.
    pub fleet: Option<Fleet>,
}

/// Fewer steps make no curve.
const LEAST_STEPS: usize = 3;

/// Where latency over the offered rate turns up: between the last rate that the target keeps up with and the next one.
#[derive(Debug, Clone, PartialEq)]
pub struct StepKnee {
    pub keeps_up: Option<f64>,
    pub falls_behind: Option<f64>,
}

impl StepKnee {
    pub fn words(&self) -> String {
        let rate = |rate: f64| format::throughput(Some(rate));
        match (self.keeps_up, self.falls_behind) {
            (Some(low), Some(high)) => format!("knee between {} and {} offered", rate(low), rate(high)),
            (Some(low), None) => format!("no knee up to {} offered", rate(low)),
            (None, Some(high)) => format!("knee below {} offered", rate(high)),
            (None, None) => "no knee".to_owned(),
        }
    }
}

impl Parts {
    /// Of the result whose rate is nearest to the median.
    pub fn of(results: &[Box<RunResult>]) -> Self {
        let Some(middle) = median(results.iter().map(|result| Some(result.requests.rate))) else {
            return Self::default();
        };
        let distance = |result: &RunResult| (result.requests.rate - middle).abs();
        let nearest = results.iter().min_by(|a, b| distance(a).total_cmp(&distance(b)));
        nearest.map_or(Self::default(), |result| Self {
            names: result.names.clone(),
            steps: result.steps.clone(),
            fleet: result.fleet.clone(),
        })
    }

    /// The steps with their offered rates, by rate, if they make a curve.
    fn curve(&self) -> Option<Vec<(f64, &Step)>> {
        let offered = |step: &'_ Step| step.offered_rate.filter(|rate| *rate > 0.0);
        let mut steps: Vec<_> = self.steps.iter().filter_map(|step| Some((offered(step)?, step))).collect();
        steps.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let is_swept = steps.first().zip(steps.last()).is_some_and(|((low, _), (high, _))| low < high);
        (steps.len() >= LEAST_STEPS && is_swept).then_some(steps)
    }

    /// Whether the target keeps up in each of these steps: it answers what is offered, and its p99 is below
    /// [`KNEE_FACTOR`] times the median p99 of the lower half.
    fn kept(steps: &[(f64, &Step)]) -> Vec<bool> {
        let low = median(steps[..steps.len().div_ceil(2)].iter().map(|(_, step)| step.figures.response.p99_us));
        let is_kept = |(offered, step): &(f64, &Step)| {
            let answers = step.figures.rate >= offered * (1.0 - RATE_TOLERANCE);
            let is_slow = low.zip(step.figures.response.p99_us).is_some_and(|(low, p99)| p99 > KNEE_FACTOR * low);
            answers && !is_slow
        };
        steps.iter().map(is_kept).collect()
    }

    /// One bad step with good ones above it is a disturbance, not the knee.
    pub fn knee(&self) -> Option<StepKnee> {
        let steps = self.curve()?;
        let beyond = Self::kept(&steps).iter().rposition(|kept| *kept).map_or(0, |last| last + 1);
        let rate = |place: usize| steps.get(place).map(|(offered, _)| *offered);
        Some(StepKnee { keeps_up: beyond.checked_sub(1).and_then(rate), falls_behind: rate(beyond) })
    }

    /// Points of the curve of p99 and answered rate over the offered rate; empty without a curve.
    pub fn points(&self) -> Vec<KneePoint> {
        let Some(steps) = self.curve() else { return Vec::new() };
        let point = |((offered, step), kept): (&(f64, &Step), bool)| KneePoint {
            offered: *offered,
            answered: step.figures.rate,
            time_us: step.figures.response.p99_us,
            mark: if kept { Mark::Holds } else { Mark::Breaks },
        };
        steps.iter().zip(Self::kept(&steps)).map(point).collect()
    }
}
