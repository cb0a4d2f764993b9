//! The result as text for a terminal: a line for each target at each rate, the lines through them, ties, notes.

use super::report::CostReport;
use crate::format::{self, ABSENT, plural, three_digits, throughput, time};
use crate::report::machine;
use brunt_results::Rate;
use brunt_results::units::share;
use brunt_slices::cost::{Bend, CostLine, Estimate, PartCost, Point, TargetCost, Terms};
use std::fmt::Write;

pub(super) const POINT_HEADS: [&str; 8] = ["", "rate", "CPU a request", "core", "p50", "p99", "p99 interval", "remark"];
pub(super) const LINE_HEADS: [&str; 4] = ["", "standing, of a core", "marginal, a request", "fit"];

pub fn text(report: &CostReport) -> String {
    let (points, lines) = (point_rows(report), line_rows(report));
    let mut out = format::table(&POINT_HEADS, |column| (1..7).contains(&column), points);
    let _ = writeln!(out, "\nCPU time a second = standing + marginal x rate\n");
    out += &format::table(&LINE_HEADS, |column| (1..3).contains(&column), lines);
    out.push('\n');
    for sentence in sentences(report) {
        let _ = writeln!(out, "{sentence}");
    }
    for note in &report.notes {
        let _ = writeln!(out, "note: {note}");
    }
    out
}

/// Ties, the frontier, and what the result rests on.
pub(super) fn sentences(report: &CostReport) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    if report.groups.len() > 1 || report.groups.iter().any(|group| group.len() > 1) {
        let groups: Vec<String> = report.groups.iter().map(|group| group.join(" = ")).collect();
        all.push(format!("from the cheapest on: {}", groups.join("; ")));
    }
    let ties = report.groups.iter().filter(|group| group.len() > 1);
    all.extend(ties.map(|group| format!("tie: {} cannot be told apart by CPU time", listed(group))));
    all.extend(frontier(report));
    let void = if report.void > 0 { format!(", {} left out", report.void) } else { String::new() };
    all.push(format!("95 % intervals over {}{void}, in {:.0} s", plural(report.rounds, "round"), report.seconds));
    all.push(report.length.words());
    all.push(format!("measured on: {}", machine(&report.env)));
    all
}

/// At each rate the targets that no other one beats, where there are several.
fn frontier(report: &CostReport) -> Vec<String> {
    let mut rates: Vec<f64> = report.targets.iter().flat_map(|target| &target.points).map(|point| point.rate).collect();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    let at = |rate: f64| {
        let points = report.targets.iter().filter_map(|target| Some((target, point_at(target, rate)?)));
        let counted: Vec<(&TargetCost, &Point)> = points.filter(|(_, point)| point.left_out.is_none()).collect();
        let on: Vec<String> = counted.iter().filter(|of| of.1.on_frontier).map(|of| of.0.target.clone()).collect();
        (counted.len() > 1 && !on.is_empty())
            .then(|| format!("frontier of cost against p99 at {}/s: {}", Rate(rate), on.join(", ")))
    };
    rates.into_iter().filter_map(at).collect()
}

fn point_at(target: &TargetCost, rate: f64) -> Option<&Point> {
    target.points.iter().find(|point| point.rate == rate)
}

fn listed(names: &[String]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", others.join(", ")),
        _ => names.join(""),
    }
}

/// A row for each point; the name stands in the first of a target.
pub(super) fn point_rows(report: &CostReport) -> Vec<Vec<String>> {
    report.targets.iter().flat_map(target_rows).collect()
}

fn target_rows(target: &TargetCost) -> Vec<Vec<String>> {
    if target.points.is_empty() {
        let mut row = vec![target.target.clone()];
        row.extend((1..7).map(|_| ABSENT.to_owned()));
        row.extend(target.no_line.clone());
        return vec![row];
    }
    let row = |(index, point): (usize, &Point)| {
        let name = if index == 0 { target.target.clone() } else { String::new() };
        vec![
            name,
            throughput(Some(point.rate)),
            point.cost_us.map_or(ABSENT.to_owned(), |cost| with_interval(&cost, "us", 1.0)),
            point.cpu_percent.map_or(ABSENT.to_owned(), |percent| format!("{} %", three_digits(Some(percent)))),
            time(point.p50_us),
            time(point.p99_us.map(|p99| p99.value)),
            point.p99_us.and_then(|p99| p99.interval).map_or(ABSENT.to_owned(), |i| format::times(i.low, i.high)),
            remark(point),
        ]
    };
    target.points.iter().enumerate().map(row).collect()
}

fn remark(point: &Point) -> String {
    match (&point.left_out, point.failed) {
        (Some(why), _) => format!("left out: {why}"),
        (None, 0) => String::new(),
        (None, failed) => format!("{failed} failed"),
    }
}

/// `12.1 us [11.9 12.3]`, in units of `unit`, which is so many of the value's.
fn with_interval(estimate: &Estimate, word: &str, unit: f64) -> String {
    let digits = |value: f64| three_digits(Some(value / unit));
    let interval = estimate.interval.map_or(String::new(), |i| format!(" [{} {}]", digits(i.low), digits(i.high)));
    format!("{} {word}{interval}", digits(estimate.value))
}

pub(super) fn line_rows(report: &CostReport) -> Vec<Vec<String>> {
    let rows = |target: &TargetCost| -> Vec<Vec<String>> {
        let parts = target.parts.iter().map(part_row);
        std::iter::once(line_row(target)).chain(parts).collect()
    };
    report.targets.iter().flat_map(rows).collect()
}

/// Of a part of the target above it.
fn part_row(part: &PartCost) -> Vec<String> {
    let name = if part.part == "listener" { "  what listens" } else { "  what stands behind it" };
    let [standing, marginal] = terms(&part.line);
    vec![name.to_owned(), standing, marginal, fit(&part.line)]
}

fn line_row(target: &TargetCost) -> Vec<String> {
    let name = target.target.clone();
    let Some(line) = &target.line else {
        let why = target.no_line.clone().unwrap_or_default();
        return vec![name, ABSENT.to_owned(), ABSENT.to_owned(), why];
    };
    let idle = target
        .idle_us_per_s
        .map_or(String::new(), |us| format!("; idle it uses {} % of a core", three_digits(Some(us / 1e4))));
    let [standing, marginal] = terms(line);
    vec![name, standing, marginal, format!("{}{idle}", fit(line))]
}

/// How a line fits, in words.
pub(crate) fn fit(line: &CostLine) -> String {
    let Some(misfit) = &line.misfit else { return "two rates: there is always a line".to_owned() };
    let off = format!("{:+.1} % at {}/s", misfit.off * 100.0, Rate(misfit.rate));
    match &misfit.bend {
        None => format!("a line; the farthest point is off by {off}"),
        Some(bend) => format!("no line: off by {off}; {}", bent(bend)),
    }
}

fn bent(bend: &Bend) -> String {
    let both = |terms: &Terms| {
        let standing = three_digits(Some(terms.standing_us_per_s / 1e4));
        format!("{standing} % of a core + {} us a request", three_digits(Some(terms.marginal_us)))
    };
    format!("it bends at {}/s: {} below, {} above", Rate(bend.rate), both(&bend.below), both(&bend.above))
}

/// Standing cost as a share of a core, and marginal cost, with their intervals.
pub(crate) fn terms(line: &CostLine) -> [String; 2] {
    // 10,000 us a second are a percent of a core.
    [with_interval(&line.standing_us_per_s, "%", 1e4), with_interval(&line.marginal_us, "us", 1.0)]
}

/// How far a measurement is, for the status line.
pub fn progress(made: usize, needed: Option<usize>, half: Option<f64>, precision: f64) -> String {
    let needed = needed.map_or(String::new(), |needed| format!(" of about {}", needed.max(made)));
    let half = half.map_or(String::new(), |half| format!("; widest interval ±{:.1} %", half * 100.0));
    format!("round {made}{needed}{half}, wanted ±{}", share(precision))
}
