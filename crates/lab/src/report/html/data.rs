//! Data of the page's script, as JSON: every row with its figures, intervals, verdicts, trials and machines. Charts refer to
//! rows by index.

use super::detail::{TimeSeries, Times, odds, time_series, times};
use super::heat::HeatMap;
use super::{FAILED, views::View};
use crate::format::significant;
use crate::report::differences::Differences;
use crate::report::tables::columns::varying;
use crate::report::{Report, Row, Run, answers, charts, notes};
use crate::run_directory::RunDirectory;
use brunt_results::{env::Env, figure, verdict::Kind};
use brunt_slices::LoadComparison;
use brunt_statistics::Interval;
use serde::{Serialize, Serializer, ser::Error};
use serde_json::{Value, json};
use std::collections::BTreeMap;

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageData<'a> {
    pub targets: Vec<String>,
    /// Corners of the markers, in tenths of their radius.
    shapes: &'static [&'static [(i32, i32)]],
    /// Number of target colours; beyond it they repeat.
    colours: usize,
    #[serde(flatten)]
    pub shared: Shared,
    /// For each value of a spectrum, `1 / (1 - percentile)`.
    odds: Vec<f64>,
    /// In report order, written as column names and lists of values: names would be a seventh of a large page.
    #[serde(serialize_with = "split")]
    pub rows: Vec<RowData>,
    views: &'a [View],
    /// The rounds of every load of a sliced experiment.
    rounds: Vec<RoundsData>,
    is_running: bool,
}

/// Writes records as `{"columns": [names], "data": [[values], ...]}`, pandas' orientation "split".
fn split<S: Serializer>(rows: &[RowData], serializer: S) -> Result<S::Ok, S::Error> {
    let mut columns = Vec::new();
    let mut data = Vec::new();
    for row in rows {
        let Value::Object(row) = serde_json::to_value(row).map_err(S::Error::custom)? else { continue };
        columns = row.keys().cloned().collect();
        data.push(row.into_iter().map(|(_, value)| value).collect::<Vec<_>>());
    }
    json!({ "columns": columns, "data": data }).serialize(serializer)
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct RowData {
    /// Directory of its repeats, relative to the page.
    folder: String,
    target: usize,
    pub load: usize,
    placement: usize,
    done: usize,
    connections: u64,
    offered: Option<f64>,
    cores: usize,
    rate: Option<f64>,
    /// The interval of the median if there are enough repeats, else the range.
    rate_interval: Option<(f64, f64)>,
    is_confidence_interval: bool,
    p50: Option<f64>,
    p99: Option<f64>,
    p99_interval: Option<(f64, f64)>,
    cpu: Option<f64>,
    cost: Option<f64>,
    is_trusted: bool,
    verdicts: Vec<(&'static str, usize)>,
    issues: Vec<Issue>,
    trials: Vec<Trial>,
    machines: Vec<usize>,
    spectrum: Vec<f64>,
    seconds: Option<TimeSeries>,
    /// Only where the page has few rows.
    heat: Option<HeatMap>,
}

/// Rows beyond which a page has no heat maps: each is up to 6 KB.
const MOST_HEATS: usize = 24;

/// A verdict other than `ok`, with the reason and remedy of the first of its repeats.
#[derive(Debug, Serialize)]
struct Issue {
    verdict: &'static str,
    repeats: Vec<u32>,
    why: String,
    remedy: usize,
}

/// Repeat, throughput, p99, verdict, percent of the machine's CPU taken by the hypervisor.
type Trial = (u32, Option<f64>, Option<f64>, &'static str, Option<f64>);

pub fn page_data<'a>(report: &Report, runs: &[Run], views: &'a [View], is_running: bool) -> PageData<'a> {
    let targets = charts::targets(report);
    let names = varying(&report.rows);
    let mut shared = Shared::default();
    let rows = report.rows.iter().map(|row| {
        let load = index_of(&mut shared.loads, charts::load::phrases(&[row], &names));
        let target = targets.iter().position(|name| *name == row.cell.target).unwrap_or(0);
        row_data(row, &runs[row.run], target, load, &mut shared)
    });
    let mut rows: Vec<RowData> = rows.collect();
    if rows.len() > MOST_HEATS {
        rows.iter_mut().for_each(|row| row.heat = None);
    }
    let odds = odds().collect();
    let (shapes, colours) = (charts::SHAPES.as_slice(), charts::COLOURS.len());
    let rounds = rounds(report, &targets);
    PageData { targets, shapes, colours, shared, odds, rows, views, rounds, is_running }
}

/// Texts that rows refer to by index.
#[derive(Debug, Default, Serialize)]
pub struct Shared {
    pub loads: Vec<String>,
    machines: Vec<String>,
    /// Cores of server and generator.
    placements: Vec<String>,
    /// Remedies of issues.
    remedies: Vec<String>,
}

/// The index of a text in a list, appended if it is new.
fn index_of(list: &mut Vec<String>, text: String) -> usize {
    list.iter().position(|known| *known == text).unwrap_or_else(|| {
        list.push(text);
        list.len() - 1
    })
}

fn row_data(row: &Row, run: &Run, target: usize, load: usize, shared: &mut Shared) -> RowData {
    let (cell, figures) = (&row.cell, &row.figures);
    let envs = envs(row, run.store);
    let mut own: Vec<usize> = envs.values().map(|env| index_of(&mut shared.machines, notes::machine(env))).collect();
    own.sort_unstable();
    own.dedup();
    let range = figures.rate.filter(|_| row.done > 1).map(|rate| Interval { low: rate.low, high: rate.high });
    let (server, client) = (cell.placement.server_words(), &cell.placement.client);
    let failed = Some((FAILED, row.failures.len())).filter(|(_, count)| *count > 0);
    let Times { spectrum, heat } = times(row, run.store);
    let five = |value: Option<f64>| value.map(|value| significant(value, 5));
    let ends = |interval: Option<Interval>| interval.map(|i| (significant(i.low, 5), significant(i.high, 5)));
    RowData {
        folder: format!("{}trials/{}", run.place, cell.id()),
        target,
        load,
        placement: index_of(&mut shared.placements, format!("server on {server}, generator on {client}")),
        done: row.done,
        connections: cell.connections(),
        offered: five(cell.rate()),
        cores: cell.placement.server.count(),
        rate: five(figures.rate.map(|rate| rate.median)),
        rate_interval: ends(figures.rate_interval.or(range)),
        is_confidence_interval: figures.rate_interval.is_some(),
        p50: five(figures.get(&figure::P50)),
        p99: five(figures.get(&figure::P99)),
        p99_interval: ends(figures.p99_interval),
        cpu: five(figures.get(&figure::CPU)),
        cost: five(figures.get(&figure::COST)),
        is_trusted: !row.is_untrusted(),
        verdicts: row.verdicts.iter().map(|(kind, count)| (kind.word(), *count)).chain(failed).collect(),
        issues: issues(row, &mut shared.remedies),
        trials: trials(row, &envs),
        machines: own,
        spectrum,
        seconds: time_series(row, run.store),
        heat,
    }
}

/// Ratios to the baseline by round.
#[derive(Debug, Serialize)]
struct RoundsData {
    load: String,
    baseline: String,
    margin: f64,
    /// Begin of each start but the first, in seconds.
    starts: Vec<f64>,
    /// Begin of each round.
    at: Vec<f64>,
    series: Vec<RoundsSeries>,
}

#[derive(Debug, Serialize)]
struct RoundsSeries {
    target: usize,
    figure: &'static str,
    /// Over all rounds, with its interval and the verdict.
    all: Option<String>,
    ratios: Vec<Option<f64>>,
}

fn rounds(report: &Report, targets: &[String]) -> Vec<RoundsData> {
    let four = |value: &f64| significant(*value, 4);
    let of_load = |(load, rounds): (&LoadComparison, &Differences)| {
        let series = rounds.series.iter().map(|one| {
            let own = load.targets.iter().find(|target| target.target == one.target);
            let all = own.and_then(|target| target.ratio(one.figure));
            RoundsSeries {
                target: targets.iter().position(|name| *name == one.target).unwrap_or(0),
                figure: one.figure.label,
                all: all.map(|ratio| format!("{}, {}", ratio.text(), ratio.verdict.word())),
                ratios: one.ratios.iter().map(|ratio| ratio.as_ref().map(four)).collect(),
            }
        });
        RoundsData {
            load: answers::load(report, load),
            baseline: load.baseline.clone(),
            margin: load.margin,
            starts: rounds.starts_s.iter().map(four).collect(),
            at: rounds.at_s.iter().map(four).collect(),
            series: series.collect(),
        }
    };
    report.comparisons.iter().zip(&report.differences).map(of_load).collect()
}

fn envs(row: &Row, store: &RunDirectory) -> BTreeMap<u32, Env> {
    row.rates.keys().filter_map(|repeat| Some((*repeat, store.env(row.cell.id(), *repeat)?))).collect()
}

impl RowData {
    /// Whether it has a distribution or a time series.
    pub fn has_detail(&self) -> bool {
        !self.spectrum.is_empty() || self.seconds.is_some()
    }
}

fn issues(row: &Row, remedies: &mut Vec<String>) -> Vec<Issue> {
    let mut issues: Vec<Issue> = Vec::new();
    for (repeat, failure) in &row.failures {
        let remedy = index_of(remedies, String::new());
        issues.push(Issue { verdict: FAILED, repeats: vec![*repeat], why: failure.line(), remedy });
    }
    let mut kinds: BTreeMap<Kind, Vec<&(u32, brunt_results::Verdict)>> = BTreeMap::new();
    for doubt in &row.doubts {
        kinds.entry(doubt.1.kind).or_default().push(doubt);
    }
    for (kind, doubts) in kinds.into_iter().rev() {
        let first = |words: &[String]| words.first().cloned().unwrap_or_default();
        let (why, remedy) = (first(&doubts[0].1.why), index_of(remedies, first(&doubts[0].1.remedy)));
        let repeats = doubts.iter().map(|(repeat, _)| *repeat).collect();
        issues.push(Issue { verdict: kind.word(), repeats, why, remedy });
    }
    issues
}

fn trials(row: &Row, envs: &BTreeMap<u32, Env>) -> Vec<Trial> {
    let mut trials: Vec<Trial> = Vec::new();
    for (repeat, rate) in &row.rates {
        let p99 = row.p99s_us.iter().find(|(of, _)| of == repeat).map(|(_, p99_us)| significant(*p99_us, 5));
        let verdict = row.doubts.iter().find(|(of, _)| of == repeat).map_or(Kind::Ok, |(_, verdict)| verdict.kind);
        let steal = envs.get(repeat).and_then(|env| env.steal_percent).map(|steal| significant(steal, 5));
        trials.push((*repeat, Some(significant(*rate, 5)), p99, verdict.word(), steal));
    }
    trials.extend(row.failures.iter().map(|(repeat, _)| (*repeat, None, None, FAILED, None)));
    trials.sort_by_key(|trial| trial.0);
    trials
}
