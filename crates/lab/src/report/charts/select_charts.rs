//! Selects the charts of a table: line charts over swept numbers, one per combination of the other settings; bar
//! charts for the remaining rows. Charts without information are omitted.

use super::axis::Axis;
use super::body::{Bar, Bars, Body, Group, Lines, Plot, Point, Series};
use super::load::{is_same, key, phrases, telling};
use super::metric::Metric;
use crate::format;
use crate::group::grouped;
use crate::report::tables::columns::shown;
use crate::report::{Figures, Row};
use brunt_results::figure::{self, Figure};
use brunt_results::result::RATE_TOLERANCE;
use brunt_statistics::Spread;

#[derive(Debug, Clone)]
pub struct ChartSelection<'a> {
    pub what: String,
    /// Settings shown by the axis or headings.
    pub told: Vec<String>,
    pub rows: Vec<&'a Row>,
    pub body: Body,
}

const MOST_BARS: usize = 48;

/// The charts of a table whose rows were selected over `over`. `targets` determines target indexes.
pub fn select_charts<'a>(rows: &[&'a Row], over: Option<&str>, targets: &[String]) -> Vec<ChartSelection<'a>> {
    let mut charts = Vec::new();
    let mut rest = rows.to_vec();
    for axis in Axis::ALL.into_iter().filter(|axis| Some(axis.name()) != over) {
        let (panels, others) = panels(&rest, axis, over);
        charts.extend(panels.into_iter().flat_map(|rows| lines(axis, &rows, over, targets)));
        rest = others;
    }
    charts.extend(bars(&rest, over, targets));
    charts
}

type Rows<'a> = Vec<&'a Row>;

/// Sets of rows that differ in target and axis value alone, with two axis values for some target; and the rest.
fn panels<'a>(rows: &[&'a Row], axis: Axis, over: Option<&str>) -> (Vec<Rows<'a>>, Rows<'a>) {
    let placed: Rows = rows.iter().copied().filter(|row| axis.value(row).is_some()).collect();
    let mut panels = by_load(&placed, &telling(rows, Some(axis), over));
    panels.retain(|rows| {
        let measured = || rows.iter().filter(|row| row.figures.rate.is_some());
        measured().any(|a| measured().any(|b| a.cell.target == b.cell.target && axis.value(a) != axis.value(b)))
    });
    let is_used = |row: &Row| panels.iter().flatten().any(|used| std::ptr::eq(*used, row));
    let others = rows.iter().copied().filter(|row| !is_used(row)).collect();
    (panels, others)
}

fn by_load<'a>(rows: &[&'a Row], names: &[String]) -> Vec<Rows<'a>> {
    let keyed = rows.iter().map(|row| (key(row, names), *row));
    grouped(keyed).into_iter().map(|(_, rows)| rows).collect()
}

fn lines<'a>(axis: Axis, rows: &[&'a Row], over: Option<&str>, targets: &[String]) -> Vec<ChartSelection<'a>> {
    let is_open = rows.iter().all(|row| row.cell.rate().is_some());
    let plot = |heading: &'static str, figure: &dyn Fn(&Figures) -> Option<Spread>| Plot {
        heading,
        series: series(axis, rows, targets, figure),
    };
    let cpu = if is_open { Metric::CPU } else { Metric::COST };
    let mut found = Vec::new();
    // Omitted if every target completes the offered rate: the lines would coincide.
    if !is_open || rows.iter().any(|row| misses(row)) {
        found.push((Metric::THROUGHPUT, vec![plot("", &|figures| figures.rate)]));
    }
    let response =
        [&figure::P50, &figure::P99].map(|one: &'static Figure| plot(one.key, &|of| of.get(one).map(alone))).into();
    found.push((Metric::RESPONSE, response));
    found.push((cpu, vec![plot("", &|figures| figures.get(cpu.0).map(alone))]));

    let mut charts = Vec::new();
    for (metric, mut plots) in found {
        plots.retain(Plot::has_a_line);
        if !plots.is_empty() {
            let shows_offered = metric == Metric::THROUGHPUT && axis == Axis::Rate;
            charts.push(ChartSelection {
                what: format!("{} by {}", what(metric, over), axis.title()),
                told: vec![axis.name().to_owned()],
                rows: rows.to_vec(),
                body: Body::Lines(Lines { axis, metric, plots, shows_offered }),
            });
        }
    }
    charts
}

fn series(axis: Axis, rows: &[&Row], targets: &[String], figure: &dyn Fn(&Figures) -> Option<Spread>) -> Vec<Series> {
    let of = |(number, name): (usize, &String)| {
        let rows = rows.iter().filter(|row| row.cell.target == *name);
        let mut points: Vec<Point> =
            rows.filter_map(|row| point(row, axis.value(row)?, figure(&row.figures))).collect();
        points.sort_by(|a, b| a.x.total_cmp(&b.x));
        (!points.is_empty()).then(|| Series { number, name: name.clone(), points })
    };
    targets.iter().enumerate().filter_map(of).collect()
}

fn point(row: &Row, x: f64, figure: Option<Spread>) -> Option<Point> {
    let figure = figure.filter(is_finite);
    let range = figure.filter(|s| s.low < s.high).map(|s| (s.low, s.high));
    Some(Point { x, y: figure.map(|s| s.median), range, is_trusted: !row.is_untrusted() })
}

fn bars<'a>(rows: &[&'a Row], over: Option<&str>, targets: &[String]) -> Vec<ChartSelection<'a>> {
    let names = telling(rows, None, over);
    let groups = by_load(rows, &names);
    let is_open = |rows: &Rows| rows.iter().all(|row| row.cell.rate().is_some());
    let limited: Vec<Rows> =
        groups.iter().filter(|rows| !is_open(rows) || rows.iter().any(|r| misses(r))).cloned().collect();
    let open: Vec<Rows> = groups.iter().filter(|rows| is_open(rows)).cloned().collect();
    let mut charts = Vec::new();
    for (metric, groups) in [(Metric::THROUGHPUT, limited), (Metric::RESPONSE, open), (Metric::COST, groups)] {
        let parts = in_parts(groups);
        let count = parts.len();
        for (index, part) in parts.into_iter().enumerate() {
            let rows: Rows = part.iter().flatten().copied().collect();
            let told: Vec<String> = names.iter().filter(|name| !is_same(&rows, name)).cloned().collect();
            let group = |rows: &Rows| Group {
                heading: phrases(rows, &told),
                bars: rows.iter().map(|row| bar(row, metric, over, targets)).collect(),
            };
            let bars = Bars { metric, groups: part.iter().map(group).collect() };
            if bars.bars().filter(|bar| bar.value.is_some()).count() > 1 {
                let part = if count > 1 { format!(", part {} of {count}", index + 1) } else { String::new() };
                let what = format!("{}{part}", what(metric, over));
                charts.push(ChartSelection { what, told, rows, body: Body::Bars(bars) });
            }
        }
    }
    charts
}

/// Distributes whole groups to parts of at most [`MOST_BARS`] bars, or one group.
fn in_parts(groups: Vec<Rows>) -> Vec<Vec<Rows>> {
    let mut parts: Vec<Vec<Rows>> = Vec::new();
    for group in groups {
        match parts.last_mut() {
            Some(part) if part.iter().map(Vec::len).sum::<usize>() + group.len() <= MOST_BARS => part.push(group),
            _ => parts.push(vec![group]),
        }
    }
    parts
}

fn bar(row: &Row, metric: Metric, over: Option<&str>, targets: &[String]) -> Bar {
    let figures = &row.figures;
    let figure = if metric == Metric::THROUGHPUT { figures.rate } else { figures.get(metric.0).map(alone) };
    let from = figures.get(&figure::P50).filter(|_| metric == Metric::RESPONSE);
    let figure = figure.filter(is_finite);
    let from = from.filter(|from| from.is_finite());
    let mut label = match (figure, from) {
        (Some(p99), Some(p50)) => {
            let least = if figures.is_bound(metric.0) { "> " } else { "" };
            format!("{} .. {least}{}", format::time(Some(p50)), format::time(Some(p99.median)))
        }
        (Some(figure), None) => metric.value(figure.median),
        (None, _) if row.done == 0 => "failed".to_owned(),
        (None, _) => "not measured".to_owned(),
    };
    if let (Some(over), Some(_)) = (over, figure) {
        label = format!("{label} at {}", shown(row, over));
    }
    if row.is_untrusted() && figure.is_some() {
        label = format!("{label} ({})", row.verdict());
    }
    Bar {
        number: targets.iter().position(|name| *name == row.cell.target).unwrap_or(0),
        name: row.cell.target.clone(),
        from,
        value: figure.map(|s| s.median),
        range: figure.filter(|s| s.low < s.high).map(|s| (s.low, s.high)),
        label,
        is_trusted: !row.is_untrusted(),
    }
}

fn what(metric: Metric, over: Option<&str>) -> String {
    let name = metric.name();
    match over {
        None => name.to_owned(),
        Some(over) if metric == Metric::THROUGHPUT => format!("Best throughput over {over},"),
        Some(over) => format!("{name} at the best throughput over {over},"),
    }
}

/// Whether the completed rate misses the offered one, with the tolerance of verdicts.
pub fn misses(row: &Row) -> bool {
    let offered = row.cell.rate().unwrap_or(0.0);
    row.figures.rate.is_some_and(|rate| rate.median < offered * (1.0 - RATE_TOLERANCE))
}

fn alone(value: f64) -> Spread {
    Spread { median: value, low: value, high: value }
}

fn is_finite(spread: &Spread) -> bool {
    [spread.median, spread.low, spread.high].iter().all(|value| value.is_finite())
}
