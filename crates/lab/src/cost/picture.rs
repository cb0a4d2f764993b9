//! The picture of a measurement of cost: p99 over CPU time a request with the frontier, and CPU time a second over the rate with the
//! lines.

use super::report::CostReport;
use super::text::sentences;
use crate::report::{CostChart, CostCurve, CostMark};
use brunt_slices::cost::{CostLine, Point, TargetCost};
use std::io;

/// The picture as an SVG file.
pub fn picture(report: &CostReport) -> io::Result<String> {
    let chart = CostChart { curves: report.targets.iter().map(curve).collect() };
    let subtitle = sentences(report).into_iter().next().unwrap_or_default();
    let footer = "filled: on the frontier of its rate, which the grey steps join; hollow: beaten in one figure, and better in none; \
                  lines: standing + marginal x rate";
    chart.svg("CPU time of a request and p99, by rate", &subtitle, footer)
}

fn curve(target: &TargetCost) -> CostCurve {
    let mark = |point: &Point| {
        let counted = point.left_out.is_none();
        let p99_us = point.p99_us.map(|p99| p99.value);
        let cost_us = point.cost_us?.value;
        let cpu_percent = point.cpu_percent?;
        counted.then_some(CostMark { rate: point.rate, cost_us, p99_us, cpu_percent, on_frontier: point.on_frontier })
    };
    let line = |line: &CostLine| (line.standing_us_per_s.value / 1e4, line.marginal_us.value / 1e4);
    CostCurve {
        name: target.target.clone(),
        marks: target.points.iter().filter_map(mark).collect(),
        line: target.line.as_ref().map(line),
    }
}
