//! What the page's script knows: every row with its figures, how sure they are, its verdicts, trials and machine. Nothing
//! is said twice: charts refer to rows, rows to texts, and what the values of a row are called stands once for all.

use super::{
    spectrum,
    time_series::{self, TimeSeries},
    views::View,
};
use crate::{
    report::{Report, Row, Run, charts, notes, tables::columns::varying},
    run_directory::RunDirectory,
    stats::Interval,
};
use brunt_results::{env::Env, verdict::Kind};
use serde::{Serialize, Serializer, ser::Error};
use serde_json::Value;
use std::collections::{BTreeMap, HashMap};

/// Everything.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Data<'a> {
    /// Where the directories of the runs are, in the order of the runs.
    places: Vec<&'a str>,
    /// Names, in the order of the plan.
    pub targets: Vec<String>,
    /// The corners of markers, in tenths of their radius.
    shapes: &'static [&'static [(i32, i32)]],
    /// How many colours there are before they begin again.
    colours: usize,
    /// Every load with a row, in words.
    pub loads: Vec<String>,
    /// What rows refer to by number.
    texts: Vec<String>,
    /// For each value of a spectrum one over the share of requests that lie above it.
    odds: Vec<f64>,
    /// In the order of the report; see [`named_once`].
    #[serde(serialize_with = "named_once")]
    pub rows: Vec<Shown>,
    views: &'a [View],
    is_running: bool,
}

/// A list of names, then for each row a list of the values that they name.
fn named_once<S: Serializer>(rows: &[Shown], serializer: S) -> Result<S::Ok, S::Error> {
    let mut lists = vec![Vec::new()];
    for row in rows {
        let Value::Object(row) = serde_json::to_value(row).map_err(S::Error::custom)? else { continue };
        if lists[0].is_empty() {
            lists[0] = row.keys().cloned().map(Value::String).collect();
        }
        lists.push(row.into_iter().map(|(_, value)| value).collect());
    }
    lists.serialize(serializer)
}

/// A figure with as many digits as matter: so many after the first.
#[derive(Debug, Clone, Copy)]
pub struct Short<const MORE: usize = 4>(pub f64);

/// For what is known to three digits, as all that comes from a histogram.
pub type Rough = Short<3>;

impl<const MORE: usize> Serialize for Short<MORE> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let short: f64 = format!("{:.MORE$e}", self.0).parse().unwrap_or(self.0);
        // Whole numbers need no ".0".
        if short.fract() == 0.0 && short.abs() < 1e15 {
            serializer.serialize_i64(short as i64)
        } else {
            serializer.serialize_f64(short)
        }
    }
}

/// A row of the report.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// Which of the runs it is of.
    run: usize,
    /// The parts of the cell's name.
    id: Vec<usize>,
    target: usize,
    pub load: usize,
    /// Where server and generator ran.
    placed: usize,
    done: usize,
    connections: u64,
    offered: Option<Short>,
    cores: usize,
    rate: Option<Short>,
    /// Of the median where there are repeats enough to tell, else from the lowest to the highest.
    rate_interval: Option<(Short, Short)>,
    /// Whether it is of the median.
    is_sure: bool,
    p50: Option<Short>,
    p99: Option<Short>,
    p99_interval: Option<(Short, Short)>,
    cpu: Option<Short>,
    cost: Option<Short>,
    is_trusted: bool,
    /// Verdicts and how many trials have each.
    kinds: Vec<(usize, usize)>,
    doubts: Vec<Raised>,
    trials: Vec<Trial>,
    /// The machines.
    envs: Vec<usize>,
    spectrum: Vec<Rough>,
    seconds: Option<TimeSeries>,
}

/// A kind of doubt, the repeats that have it, the reason of the first of them, and the remedy.
type Raised = (usize, Vec<u32>, usize, usize);

/// Repeat, throughput, 99th percentile, verdict, percent of the machine that the hypervisor took away.
type Trial = (u32, Option<Short>, Option<Short>, usize, Option<Short>);

/// The word for a trial without a result, beside those of [`Kind`].
pub const FAILED: &str = "failed";

/// Gathers it.
pub fn data<'a>(report: &Report, runs: &'a [Run], views: &'a [View], is_running: bool) -> Data<'a> {
    let targets = charts::targets(report);
    let names = varying(&report.rows);
    let (mut loads, mut texts) = (Texts::default(), Texts::default());
    let rows = report.rows.iter().map(|row| {
        let load = loads.number(&charts::load::phrases(&[row], &names));
        let target = targets.iter().position(|name| *name == row.cell.target).unwrap_or(0);
        shown(row, runs[row.run].store, target, load, &mut texts)
    });
    let rows = rows.collect();
    let places = runs.iter().map(|run| run.place.as_str()).collect();
    let odds = spectrum::odds().collect();
    let (shapes, colours) = (charts::SHAPES.as_slice(), charts::COLOURS.len());
    let (loads, texts) = (loads.list, texts.list);
    Data { places, targets, shapes, colours, loads, texts, odds, rows, views, is_running }
}

/// Texts, each once.
#[derive(Debug, Default)]
struct Texts {
    list: Vec<String>,
    numbers: HashMap<String, usize>,
}

impl Texts {
    /// Where a text stands among them, at whose end it is put if need be.
    fn number(&mut self, text: &str) -> usize {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        self.list.push(text.to_owned());
        self.numbers.insert(text.to_owned(), self.list.len() - 1);
        self.list.len() - 1
    }
}

fn shown(row: &Row, store: &RunDirectory, target: usize, load: usize, texts: &mut Texts) -> Shown {
    let (cell, figures) = (&row.cell, &row.figures);
    let of_trials: BTreeMap<u32, Env> =
        row.rates.keys().filter_map(|repeat| Some((*repeat, store.env(&cell.id, *repeat)?))).collect();
    let mut machines: Vec<usize> = of_trials.values().map(|env| texts.number(&notes::machine(env))).collect();
    machines.sort_unstable();
    machines.dedup();
    let range = figures.rate.filter(|_| row.done > 1).map(|rate| Interval { low: rate.low, high: rate.high });
    let (server, client) = (&cell.placement.server, &cell.placement.client);
    let mut kinds: Vec<(usize, usize)> =
        row.verdicts.iter().map(|(kind, count)| (texts.number(kind.word()), *count)).collect();
    if !row.failures.is_empty() {
        kinds.push((texts.number(FAILED), row.failures.len()));
    }
    Shown {
        run: row.run,
        id: cell.id.split(',').map(|part| texts.number(part)).collect(),
        target,
        load,
        placed: texts.number(&format!("server on {server}, generator on {client}")),
        done: row.done,
        connections: cell.connections(),
        offered: cell.rate().map(Short),
        cores: server.count(),
        rate: figures.rate.map(|rate| Short(rate.median)),
        rate_interval: figures.rate_interval.or(range).map(ends),
        is_sure: figures.rate_interval.is_some(),
        p50: figures.p50_us.map(Short),
        p99: figures.p99_us.map(Short),
        p99_interval: figures.p99_interval.map(ends),
        cpu: figures.cpu_percent.map(Short),
        cost: figures.cpu_us_per_request.map(Short),
        is_trusted: !row.is_untrusted(),
        kinds,
        doubts: raised(row, texts),
        trials: trials(row, &of_trials, texts),
        envs: machines,
        spectrum: spectrum::of(row, store),
        seconds: time_series::of(row, store),
    }
}

impl Shown {
    /// Whether anything is known of it beyond its figures.
    pub fn has_detail(&self) -> bool {
        !self.spectrum.is_empty() || self.seconds.is_some()
    }
}

fn ends(interval: Interval) -> (Short, Short) {
    (Short(interval.low), Short(interval.high))
}

/// The worst kind first.
fn raised(row: &Row, texts: &mut Texts) -> Vec<Raised> {
    let mut kinds: BTreeMap<Kind, Vec<&(u32, brunt_results::Verdict)>> = BTreeMap::new();
    for doubt in &row.doubts {
        kinds.entry(doubt.1.kind).or_default().push(doubt);
    }
    let mut raised: Vec<Raised> = Vec::new();
    for (repeat, failure) in &row.failures {
        raised.push((texts.number(FAILED), vec![*repeat], texts.number(&failure.line()), texts.number("")));
    }
    for (kind, doubts) in kinds.into_iter().rev() {
        let verdict = &doubts[0].1;
        let mut first = |words: &[String]| texts.number(words.first().map_or("", String::as_str));
        let (why, remedy) = (first(&verdict.why), first(&verdict.remedy));
        raised.push((texts.number(kind.word()), doubts.iter().map(|(repeat, _)| *repeat).collect(), why, remedy));
    }
    raised
}

fn trials(row: &Row, envs: &BTreeMap<u32, Env>, texts: &mut Texts) -> Vec<Trial> {
    let doubt = |repeat: &u32| row.doubts.iter().find(|(of, _)| of == repeat);
    let mut trials: Vec<Trial> = Vec::new();
    for (repeat, rate) in &row.rates {
        let p99 = row.p99s_us.iter().find(|(of, _)| of == repeat).map(|(_, p99_us)| Short(*p99_us));
        let kind = doubt(repeat).map_or(Kind::Ok, |(_, verdict)| verdict.kind).word();
        let steal = envs.get(repeat).and_then(|env| env.steal_percent).map(Short);
        trials.push((*repeat, Some(Short(*rate)), p99, texts.number(kind), steal));
    }
    trials.extend(row.failures.iter().map(|(repeat, _)| (*repeat, None, None, texts.number(FAILED), None)));
    trials.sort_by_key(|trial| trial.0);
    trials
}
