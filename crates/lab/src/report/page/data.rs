//! What the page's script knows: every row with its figures, how sure they are, its verdicts, trials and machine. Charts
//! refer to rows, so that a figure is there once.

use super::{
    seconds::{self, Seconds},
    spectrum,
    views::View,
};
use crate::{
    report::{Report, Row, chart, columns::varying, notes},
    stats::Interval,
    store::Store,
    trial::Failure,
};
use outcome::{env::Env, verdict::Kind};
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;

/// Everything.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Data<'a> {
    /// Names, in the order of the plan.
    pub targets: Vec<String>,
    /// The corners of markers, in tenths of their radius.
    shapes: &'static [&'static [(i32, i32)]],
    /// How many colours there are before they begin again.
    colours: usize,
    /// Every load with a row, in words.
    pub loads: Vec<String>,
    /// Every machine, in words.
    envs: Vec<String>,
    /// For each value of a spectrum one over the share of requests that lie above it.
    odds: Vec<f64>,
    /// In the order of the report.
    pub rows: Vec<Shown>,
    views: &'a [View],
    is_running: bool,
}

/// A figure with as many digits as matter.
#[derive(Debug, Clone, Copy)]
pub struct Short(pub f64);

impl Serialize for Short {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let short: f64 = format!("{:.4e}", self.0).parse().unwrap_or(self.0);
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
    id: String,
    target: usize,
    pub load: usize,
    /// Where server and generator ran.
    placed: String,
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
    kinds: Vec<(&'static str, usize)>,
    doubts: Vec<Raised>,
    /// Repeat, throughput, 99th percentile, verdict, percent of the machine that the hypervisor took away.
    trials: Vec<Trial>,
    envs: Vec<usize>,
    spectrum: Vec<Short>,
    seconds: Option<Seconds>,
}

/// A kind of doubt, with the reason of its first repeat.
#[derive(Debug, Serialize)]
struct Raised {
    kind: &'static str,
    repeats: Vec<u32>,
    why: String,
    remedy: String,
}

type Trial = (u32, Option<Short>, Option<Short>, &'static str, Option<Short>);

/// The word for a trial without a result, beside those of [`Kind`].
pub const FAILED: &str = "failed";

/// Gathers it.
pub fn data<'a>(report: &Report, store: &Store, views: &'a [View], is_running: bool) -> Data<'a> {
    let targets = chart::targets(report);
    let names = varying(&report.rows);
    let (mut loads, mut envs) = (Vec::new(), Vec::new());
    let rows = report.rows.iter().map(|row| {
        let load = place(&mut loads, chart::load::phrases(&[row], &names));
        let target = targets.iter().position(|name| *name == row.cell.target).unwrap_or(0);
        shown(row, store, target, load, &mut envs)
    });
    let rows = rows.collect();
    let odds = spectrum::odds().collect();
    let (shapes, colours) = (chart::SHAPES.as_slice(), chart::COLOURS.len());
    Data { targets, shapes, colours, loads, envs, odds, rows, views, is_running }
}

/// Where a text stands in the list, at whose end it is put if need be.
fn place(list: &mut Vec<String>, text: String) -> usize {
    list.iter().position(|known| *known == text).unwrap_or_else(|| {
        list.push(text);
        list.len() - 1
    })
}

fn shown(row: &Row, store: &Store, target: usize, load: usize, envs: &mut Vec<String>) -> Shown {
    let (cell, figures) = (&row.cell, &row.figures);
    let of_trials: BTreeMap<u32, Env> =
        row.rates.keys().filter_map(|repeat| Some((*repeat, store.env(&cell.id, *repeat)?))).collect();
    let mut machines: Vec<usize> = of_trials.values().map(|env| place(envs, notes::machine(env))).collect();
    machines.sort_unstable();
    machines.dedup();
    let range = figures.rate.filter(|_| row.done > 1).map(|rate| Interval { low: rate.low, high: rate.high });
    let (server, client) = (&cell.placement.server, &cell.placement.client);
    let mut kinds: Vec<(&str, usize)> = row.verdicts.iter().map(|(kind, count)| (kind.word(), *count)).collect();
    if !row.failures.is_empty() {
        kinds.push((FAILED, row.failures.len()));
    }
    Shown {
        id: cell.id.clone(),
        target,
        load,
        placed: format!("server on {server}, generator on {client}"),
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
        doubts: raised(row),
        trials: trials(row, &of_trials),
        envs: machines,
        spectrum: spectrum::of(row, store),
        seconds: seconds::of(row, store),
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
fn raised(row: &Row) -> Vec<Raised> {
    let mut kinds: BTreeMap<Kind, Vec<&(u32, outcome::Verdict)>> = BTreeMap::new();
    for doubt in &row.doubts {
        kinds.entry(doubt.1.kind).or_default().push(doubt);
    }
    let first = |words: &[String]| words.first().cloned().unwrap_or_default();
    let of_kind = |(kind, doubts): (Kind, Vec<&(u32, outcome::Verdict)>)| Raised {
        kind: kind.word(),
        repeats: doubts.iter().map(|(repeat, _)| *repeat).collect(),
        why: first(&doubts[0].1.why),
        remedy: first(&doubts[0].1.remedy),
    };
    let failed = |(repeat, failure): &(u32, Failure)| Raised {
        kind: FAILED,
        repeats: vec![*repeat],
        why: failure.line(),
        remedy: String::new(),
    };
    row.failures.iter().map(failed).chain(kinds.into_iter().rev().map(of_kind)).collect()
}

fn trials(row: &Row, envs: &BTreeMap<u32, Env>) -> Vec<Trial> {
    let doubt = |repeat: &u32| row.doubts.iter().find(|(of, _)| of == repeat);
    let done = row.rates.iter().map(|(repeat, rate)| {
        let p99 = row.p99s_us.iter().find(|(of, _)| of == repeat).map(|(_, p99_us)| Short(*p99_us));
        let kind = doubt(repeat).map_or(Kind::Ok, |(_, verdict)| verdict.kind).word();
        let steal = envs.get(repeat).and_then(|env| env.steal_percent).map(Short);
        (*repeat, Some(Short(*rate)), p99, kind, steal)
    });
    let failed = row.failures.iter().map(|(repeat, _)| (*repeat, None, None, FAILED, None));
    let mut trials: Vec<Trial> = done.chain(failed).collect();
    trials.sort_by_key(|trial| trial.0);
    trials
}
