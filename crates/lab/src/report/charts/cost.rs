//! CPU time a request against p99, and CPU over the rate, of targets at several rates.

use crate::format::{cost, time};
use brunt_results::Rate;

#[derive(Debug, Clone, PartialEq)]
pub struct CostChart {
    /// One for each target.
    pub curves: Vec<CostCurve>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CostCurve {
    pub name: String,
    /// In ascending order of the rate.
    pub marks: Vec<CostMark>,
    /// CPU without requests in percent of a core, and what one request a second adds.
    pub line: Option<(f64, f64)>,
}

/// A target at a rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CostMark {
    /// Requests a second.
    pub rate: f64,
    pub cost_us: f64,
    pub p99_us: Option<f64>,
    /// Of one core.
    pub cpu_percent: f64,
    pub on_frontier: bool,
}

impl CostChart {
    pub fn description(&self) -> String {
        let mark = |mark: &CostMark| {
            format!("{} and p99 {} at {}/s", cost(Some(mark.cost_us)), time(mark.p99_us), Rate(mark.rate))
        };
        let curve = |curve: &CostCurve| {
            let marks: Vec<String> = curve.marks.iter().map(mark).collect();
            format!("{}: {}", curve.name, marks.join(", "))
        };
        format!("{}.", self.curves.iter().map(curve).collect::<Vec<_>>().join("; "))
    }

    /// At each rate that several targets have: the places of its frontier, by cost.
    pub fn frontiers(&self) -> Vec<Vec<(f64, f64)>> {
        let marks = || self.curves.iter().flat_map(|curve| &curve.marks);
        let mut rates: Vec<f64> = marks().map(|mark| mark.rate).collect();
        rates.sort_by(f64::total_cmp);
        rates.dedup();
        let of = |rate: f64| {
            let at = || marks().filter(move |mark| mark.rate == rate);
            let on = at().filter(|mark| mark.on_frontier);
            let mut places: Vec<(f64, f64)> = on.filter_map(|mark| Some((mark.cost_us, mark.p99_us?))).collect();
            places.sort_by(|a, b| a.0.total_cmp(&b.0));
            (at().count() > 1).then_some(places)
        };
        rates.into_iter().filter_map(of).filter(|places| places.len() > 1).collect()
    }
}
