//! Plots of the page: those of the line charts and, for response times, the same points over throughput.

use crate::report::Report;
use crate::report::charts::{Axis, Body, Chart, Lines, Metric, misses};
use serde::Serialize;

/// A plot. Figures are named by the keys of rows.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct View {
    #[serde(skip)]
    pub chart: usize,
    #[serde(skip)]
    pub title: String,
    #[serde(skip)]
    pub subtitle: String,
    x: &'static str,
    x_log: bool,
    y: &'static str,
    y_log: bool,
    /// Figure that orders the points of a line.
    along: &'static str,
    rows: Vec<usize>,
    /// Whether `x` is also the value to reach.
    offered: bool,
    /// Whether lines are compared with linear scaling.
    ideal: bool,
}

pub fn views(report: &Report, charts: &[Chart]) -> Vec<View> {
    let of_chart = |(number, chart): (usize, &Chart)| match &chart.body {
        Body::Lines(lines) => of_lines(report, number, chart, lines),
        _ => Vec::new(),
    };
    charts.iter().enumerate().flat_map(of_chart).collect()
}

fn of_lines(report: &Report, number: usize, chart: &Chart, lines: &Lines) -> Vec<View> {
    let (x_scale, y_scale) = lines.scales();
    let along = match lines.axis {
        Axis::Rate => "offered",
        Axis::Connections => "connections",
        Axis::ServerCores => "cores",
    };
    let view = |y: &'static str, heading: &str| View {
        chart: number,
        title: match heading {
            "" => chart.title.clone(),
            _ => chart.title.replacen("Response time", &format!("Response {heading}"), 1),
        },
        subtitle: chart.load.clone(),
        x: along,
        x_log: x_scale.is_log,
        y,
        y_log: y_scale.is_log,
        along,
        rows: chart.rows.clone(),
        offered: lines.shows_offered,
        ideal: lines.shows_ideal(),
    };
    let mut views: Vec<View> = if lines.metric == Metric::RESPONSE {
        lines.plots.iter().map(|plot| view(plot.heading, plot.heading)).collect()
    } else {
        vec![view(lines.metric.0.key, "")]
    };
    // If every rate was reached, throughput equals the rate.
    let turns = lines.axis != Axis::Rate || chart.rows.iter().any(|row| misses(&report.rows[*row]));
    if lines.metric == Metric::RESPONSE && lines.axis != Axis::ServerCores && turns {
        let through = |view: &View| View {
            title: view.title.replace(&format!(" by {}", lines.axis.title()), " by throughput"),
            subtitle: format!("{}; along each line: {}", view.subtitle, lines.axis.title()),
            x: "rate",
            x_log: false,
            offered: false,
            ideal: false,
            rows: view.rows.clone(),
            ..*view
        };
        views.extend(views.iter().map(through).collect::<Vec<_>>());
    }
    views
}
