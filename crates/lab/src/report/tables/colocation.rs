//! Layouts of services with best-effort jobs beside them: `interference`, and `heracles` in the columns of Heracles'
//! re-implementation.

use super::{RenderedTable, column, columns::Column};
use crate::format::{self, ABSENT};
use crate::group::grouped;
use crate::report::colocation::{Colocation, Estimate, Repeat};
use crate::report::{Report, Row};
use brunt_results::Rate;

/// A row and what ran beside its target.
type Beside<'a> = (&'a Row, &'a Colocation);

fn rows(report: &Report) -> Vec<Beside<'_>> {
    report.rows.iter().filter_map(|row| Some((row, row.colocated.as_ref()?))).collect()
}

/// Layout `interference`: a table for each co-runner, a row for each load and policy.
pub fn interference(report: &Report) -> Vec<RenderedTable> {
    let tables = grouped(rows(report).into_iter().map(|row| (row.1.co_runner.as_str(), row)));
    tables.into_iter().map(|(_, rows)| of_co_runner(report, &by_load(rows))).collect()
}

/// Sorts by load; within a load the order of policies stays.
fn by_load(mut rows: Vec<Beside>) -> Vec<Beside> {
    rows.sort_by(|a, b| a.0.cell.rate().unwrap_or(0.0).total_cmp(&b.0.cell.rate().unwrap_or(0.0)));
    rows
}

fn of_co_runner(report: &Report, rows: &[Beside]) -> RenderedTable {
    let mut columns = vec![column(rows, ["offered", "req/s"], true, |(row, _)| offered(row))];
    if rows.iter().any(|(row, _)| row.cell.target != rows[0].0.cell.target) {
        columns.push(column(rows, ["", "target"], false, |(row, _)| row.cell.target.clone()));
    }
    columns.push(column(rows, ["", "policy"], false, |(_, beside)| beside.policy()));
    let figure = |header, weight, show: &dyn Fn(&Colocation) -> String| Column {
        weight,
        ..column(rows, header, true, |(_, beside)| show(beside))
    };
    columns.extend([
        figure(["", "req/s"], 3, &|of| shown(of.estimate(|r| r.rate), 1.0, 0, false)),
        figure(["p50", "ms"], 5, &|of| shown(of.time(|r| r.p50_us), 1e-3, 2, false)),
        figure(["p99", "ms"], 0, &|of| shown(of.time(|r| r.p99_us), 1e-3, 2, true)),
        figure(["p99.9", "ms"], 4, &|of| shown(of.time(|r| r.p999_us), 1e-3, 2, false)),
        figure(["bad", "s %"], 0, &|of| format::number(of.bad_seconds().map(|share| share * 100.0), 1)),
        figure(["CPU %", "LC / all"], 2, &|of| pair(of, |r| r.service_cpu, |r| r.total_cpu, 1.0)),
        figure(["memory", "GB/s"], 6, &|of| shown(of.estimate(|r| r.memory), 1e-9, 2, false)),
        figure(["Mbit/s", "LC / BE"], 7, &|of| pair(of, |r| r.service_network, |r| r.job_network, 1e-6)),
        figure(["BE rate", "%"], 0, &|of| shown(of.estimate(|r| r.job_rate), 100.0, 1, true)),
        figure(["EMU", "%"], 0, &|of| shown(of.estimate(|r| r.emu), 100.0, 1, true)),
        column(rows, ["", "verdict"], false, |(row, _)| row.verdict()),
    ]);
    columns.retain(|column| column.is_verdict() || column.cells.iter().any(|cell| cell != ABSENT));
    let groups = groups(rows.iter().map(|(row, _)| offered(row)));
    RenderedTable { title: title(report, rows[0].1), columns, groups, headings: Vec::new() }
}

fn title(report: &Report, beside: &Colocation) -> String {
    let resource = beside.resource.as_ref().map_or(String::new(), |resource| format!(" ({resource})"));
    match report.experiment.repeats {
        0 | 1 => format!("beside {}{resource}", beside.co_runner),
        _ => format!("beside {}{resource}: median, interval or range over the repeats", beside.co_runner),
    }
}

fn groups(loads: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: Vec<String> = Vec::new();
    let number = |load: String| {
        seen.iter().position(|known| *known == load).unwrap_or_else(|| {
            seen.push(load);
            seen.len() - 1
        })
    };
    loads.map(number).collect()
}

fn offered(row: &Row) -> String {
    row.cell.rate().map_or("max".to_owned(), |rate| Rate(rate).to_string())
}

fn shown(estimate: Option<Estimate>, factor: f64, decimals: usize, with_ends: bool) -> String {
    let Some(Estimate { median, ends }) = estimate else { return ABSENT.to_owned() };
    let number = |value: f64| format!("{:.decimals$}", value * factor);
    match ends.filter(|_| with_ends) {
        Some(ends) => format!("{} [{} {}]", number(median), number(ends.low), number(ends.high)),
        None => number(median),
    }
}

fn pair(
    of: &Colocation,
    one: impl Fn(&Repeat) -> Option<f64>,
    other: impl Fn(&Repeat) -> Option<f64>,
    factor: f64,
) -> String {
    match (of.estimate(one), of.estimate(other)) {
        (None, None) => ABSENT.to_owned(),
        (one, other) => {
            let decimals = if factor < 1.0 { 1 } else { 0 };
            let [one, other] = [one, other].map(|estimate| shown(estimate, factor, decimals, false));
            format!("{one} / {other}")
        }
    }
}

/// Layout `heracles`: the service alone, then a table for each co-runner and policy; a row for each load.
pub fn heracles(report: &Report) -> Vec<RenderedTable> {
    let rows = rows(report);
    let (alone, managed): (Vec<Beside>, Vec<Beside>) = rows.into_iter().partition(|(_, beside)| beside.is_alone());
    let baseline: Vec<Row> = grouped(by_load(alone).into_iter().map(|row| (offered(row.0), row.0)))
        .into_iter()
        .map(|(_, rows)| pooled(&rows))
        .collect();
    let baseline = baseline.iter().filter_map(|row| Some((row, row.colocated.as_ref()?))).collect();
    let title = |beside: &Colocation| format!("{}, {}", beside.co_runner, beside.policy());
    let tables = grouped(managed.into_iter().map(|row| (title(row.1), row)));
    let all = std::iter::once(("baseline".to_owned(), baseline)).chain(tables);
    all.filter(|(_, rows): &(String, Vec<Beside>)| !rows.is_empty())
        .map(|(title, rows)| seed_table(title, &by_load(rows)))
        .collect()
}

fn seed_table(title: String, rows: &[Beside]) -> RenderedTable {
    let figure = |header, show: &dyn Fn(&Colocation) -> String| column(rows, header, true, |(_, beside)| show(beside));
    let columns = vec![
        column(rows, ["", "QPS"], true, |(row, _)| row.cell.rate().map_or("max".to_owned(), |rate| rate.to_string())),
        figure(["latency", "ms"], &|of| shown(of.time(|r| r.latency_us), 1e-3, 3, false)),
        figure(["CPU %", "LC / total"], &|of| pair(of, |r| r.service_cpu, |r| r.total_cpu, 1.0)),
        figure(["mem BW", "MB/s"], &|of| shown(of.estimate(|r| r.memory), 1e-6, 0, false)),
        figure(["net bits/s", "LC / BE"], &|of| pair(of, |r| r.service_network, |r| r.job_network, 1.0)),
        column(rows, ["", "verdict"], false, |(row, _)| row.verdict()),
    ];
    RenderedTable { title, columns, groups: (0..rows.len()).collect(), headings: Vec::new() }
}

/// The repeats of several cells as one row.
fn pooled(rows: &[&Row]) -> Row {
    let mut all = rows[0].clone();
    for row in &rows[1..] {
        all.done += row.done;
        all.failures.extend(row.failures.iter().cloned());
        for (kind, count) in &row.verdicts {
            *all.verdicts.entry(*kind).or_default() += count;
        }
        if let (Some(all), Some(more)) = (&mut all.colocated, &row.colocated) {
            all.repeats.extend(more.repeats.iter().copied());
        }
    }
    all
}
