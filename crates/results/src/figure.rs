//! The figures of a trial: one entry for each, from which bounds, tables, charts, pages, the index of past results, comparisons,
//! exports, the live view, monitoring systems and `docs/reference/figures.md` take name, unit, words and value.
//!
//! A figure is added by one entry in a file of this folder: `load` (requests), `times` (latencies), `server` (CPU, memory),
//! `connections`, `replies` (HTTP), `sends` (open loops). Keys, columns of the index and names of metrics are contracts with
//! scripts: they are added, never renamed. An absent value is `None`, never 0.

mod connections;
mod load;
pub mod reference;
mod replies;
mod sends;
mod server;
mod times;
mod written;

pub use connections::*;
pub use load::*;
pub use replies::*;
pub use sends::*;
pub use server::*;
pub use times::*;
pub use written::{absent, computed, written};

use crate::judge::BEYOND_QUANTILE;
use crate::latency::{LatencySummary, named};
use crate::result::{PartFigures, RunResult};
use serde::{Serialize, Serializer};
use std::fmt;

/// One figure of a trial.
pub struct Figure {
    /// Its name in bounds, filters, flags and comparisons.
    pub key: &'static str,
    pub aliases: &'static [&'static str],
    /// As sentences name it.
    pub label: &'static str,
    /// As narrow columns name it; empty if as `key`.
    pub short: &'static str,
    pub unit: Unit,
    pub better: Better,
    /// What it is, for the reference and for monitoring systems.
    pub help: &'static str,
    /// The key of `result.json` that it is or comes from, by which `env.json` has the reason of its absence.
    pub path: &'static str,
    pub of: fn(&RunResult) -> Option<f64>,
    /// The distribution that it is a statistic of.
    pub times: Option<Times>,
    /// Its value of a named part of the load, of what is no response time; else why a part has none, as the end of a sentence.
    pub part: Result<fn(&PartFigures) -> Option<f64>, &'static str>,
    /// Words on it in the list of what bounds can be about; `None` if they cannot be about it.
    pub bound: Option<&'static str>,
    /// Whether a bound on it says how many failures are acceptable.
    pub counts_failures: bool,
    /// Its column in the table with every figure.
    pub column: Option<Column>,
    /// Where the summary and the live view tell it, if they have no sentence of their own for it.
    pub told: Option<Told>,
    /// As titles of charts begin.
    pub title: &'static str,
    /// Words for it where no trial has it, as in `No server CPU here: ...`.
    pub missing: &'static str,
    /// Its column in the index of past results.
    pub indexed: Option<Indexed>,
    pub compared: Compared,
    /// Whether `brunt export --figure` takes it.
    pub is_exported: bool,
    /// Its measure in Bencher's format.
    pub measure: &'static str,
    /// Its family in Prometheus' format.
    pub prometheus: Option<Family>,
    /// Its gauge of the last second, while a load goes on.
    pub gauge: Option<Gauge>,
    /// Computed from other keys of the result: written under `figures`, with this reason in `env.json` where it is absent.
    pub computed: Option<fn(&RunResult) -> &'static str>,
}

/// What entries leave out.
const BASE: Figure = Figure {
    key: "",
    aliases: &[],
    label: "",
    short: "",
    unit: Unit::Count,
    better: Better::Neither,
    help: "",
    path: "",
    of: |_| None,
    times: None,
    part: Err("of which it is not known"),
    bound: None,
    counts_failures: false,
    column: None,
    told: None,
    title: "",
    missing: "",
    indexed: None,
    compared: Compared::Never,
    is_exported: false,
    measure: "",
    prometheus: None,
    gauge: None,
    computed: None,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// Requests per second.
    Rate,
    /// Microseconds.
    Us,
    Percent,
    /// 100 is one core.
    CpuPercent,
    Requests,
    Bytes,
    Count,
    /// A number without unit.
    Ratio,
}

impl Unit {
    /// As messages write it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Rate => "requests/s",
            Self::Us => "us",
            Self::Percent | Self::CpuPercent => "%",
            Self::Requests => "requests",
            Self::Bytes => "B",
            Self::Count | Self::Ratio => "",
        }
    }

    /// Whether values are whole numbers.
    pub fn is_whole(self) -> bool {
        matches!(self, Self::Requests | Self::Bytes | Self::Count)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Better {
    Higher,
    Lower,
    Neither,
}

/// A statistic of a distribution of times.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    pub distribution: Distribution,
    /// `mean`, `max` or a percentile.
    pub statistic: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Distribution {
    Response,
    Service,
    /// Of replies that came in pieces: the first byte of every other one came with its last.
    FirstByte,
}

impl Distribution {
    fn summary(self, result: &RunResult) -> Option<&LatencySummary> {
        let latency = &result.latency;
        match self {
            Self::Response => Some(&latency.response),
            Self::Service => Some(&latency.service),
            Self::FirstByte => latency.first_byte.as_ref().filter(|times| **times != latency.service),
        }
    }
}

/// A column of the table with every figure.
pub struct Column {
    /// Two lines.
    pub header: [&'static str; 2],
    /// Columns with a higher weight are omitted first on a narrow terminal; 0 is always shown.
    pub weight: u8,
    /// Whether the default table has it too.
    pub is_default: bool,
    pub shown: Shown,
}

/// How a table shows values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    Time,
    Mebibytes,
    /// A percentage with its sign.
    Percent,
    /// With so many decimals.
    Number(usize),
}

const fn column(over: &'static str, name: &'static str, weight: u8, shown: Shown) -> Option<Column> {
    Some(Column { header: [over, name], weight, is_default: weight == 0, shown })
}

/// The end of a row of the summary and of the live view.
pub struct Told {
    /// Name of the row: `requests`, `generator` or `server`; of the live view `rate`, `response` and `errors` too.
    pub row: &'static str,
    /// Before the value.
    pub word: &'static str,
}

/// A column of the index of past results.
pub struct Indexed {
    pub column: &'static str,
    /// What it has held since the first version of the index, where that is not the figure.
    pub of: Option<fn(&RunResult) -> Option<f64>>,
}

const fn indexed(column: &'static str) -> Option<Indexed> {
    Some(Indexed { column, of: None })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Compared {
    /// By every comparison.
    Always,
    /// Where a bound is about it.
    Asked,
    Never,
}

/// A family of one gauge in Prometheus' format.
pub struct Family {
    pub name: &'static str,
    /// Units of the figure in the base unit of the family.
    pub divisor: f64,
}

const fn family(name: &'static str, divisor: f64) -> Option<Family> {
    Some(Family { name, divisor })
}

/// A gauge for monitoring systems.
pub struct Gauge {
    /// With the base unit that Prometheus asks for. Where the figure has a family of results too, the same.
    pub name: &'static str,
    /// As UCUM writes it.
    pub unit: &'static str,
    pub help: &'static str,
    /// Units of the figure in the base unit of the gauge.
    pub divisor: f64,
}

const fn gauge(name: &'static str, unit: &'static str, help: &'static str, divisor: f64) -> Option<Gauge> {
    Some(Gauge { name, unit, help, divisor })
}

/// Defines a static for each entry, and their list.
macro_rules! figures {
    ($list:ident: $($name:ident { $($body:tt)* })*) => {
        $(pub static $name: Figure = Figure { $($body)* ..BASE };)*
        pub(super) static $list: &[&Figure] = &[$(&$name),*];
    };
}
use figures;

/// All figures, in the order of tables.
pub fn all() -> impl Iterator<Item = &'static Figure> + Clone {
    let groups = [
        load::FIGURES,
        times::FIGURES,
        server::FIGURES,
        connections::FIGURES,
        server::COSTS,
        replies::FIGURES,
        sends::FIGURES,
    ];
    groups.into_iter().flatten().copied()
}

/// Those of which `has` is true: first those named in `first`, in that order, then the others. For outputs that had an order of
/// their own before.
pub fn in_order(first: &[&str], has: impl Fn(&Figure) -> bool) -> Vec<&'static Figure> {
    let mut figures: Vec<&Figure> = all().filter(|figure| has(figure)).collect();
    figures.sort_by_key(|figure| first.iter().position(|key| *key == figure.key).unwrap_or(first.len()));
    figures
}

/// The figure of this name.
pub fn find(name: &str) -> Option<&'static Figure> {
    all().find(|figure| figure.key == name || figure.aliases.contains(&name))
}

impl Figure {
    /// The quantile that it is or depends on.
    pub fn quantile(&self) -> Option<f64> {
        named(self.times?.statistic).map(|percentile| percentile.quantile())
    }

    /// The value, unless it is a quantile beyond which too few values lie to report it.
    pub fn supported(&self, result: &RunResult) -> Option<f64> {
        let beyond = self.quantile().map(|quantile| 1.0 - quantile);
        let summary = self.times.and_then(|times| times.distribution.summary(result));
        let is_supported = |(summary, beyond): (&LatencySummary, f64)| supports_quantile(summary.count as f64, beyond);
        (self.of)(result).filter(|_| summary.zip(beyond).is_none_or(is_supported))
    }

    /// Whether the value is a lower bound, as it falls among requests without a complete reply.
    pub fn is_bound(&self, result: &RunResult) -> bool {
        let summary = self.times.and_then(|times| Some((times.distribution.summary(result)?, times.statistic)));
        summary.is_some_and(|(summary, statistic)| summary.is_bound(statistic))
    }

    /// Whether it is a response time.
    pub fn is_response(&self) -> bool {
        self.times.is_some_and(|times| times.distribution == Distribution::Response)
    }

    /// As narrow columns name it.
    pub fn short(&self) -> &'static str {
        if self.short.is_empty() { self.key } else { self.short }
    }
}

/// Whether `count` values suffice to report the quantile `1 - beyond`: at least [`BEYOND_QUANTILE`] lie beyond it.
pub fn supports_quantile(count: f64, beyond: f64) -> bool {
    count * beyond >= BEYOND_QUANTILE * (1.0 - 1e-9)
}

impl fmt::Debug for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)
    }
}

impl PartialEq for Figure {
    fn eq(&self, other: &Self) -> bool {
        self.key == other.key
    }
}

impl Eq for Figure {}

/// By its key.
impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key)
    }
}
