//! Columns of the table, the same for every output: the settings that vary, then the figures.

use crate::format;
use crate::plan::settings::Settings;
use crate::report::colocation::Colocation;
use crate::report::compared::{self, Compared};
use crate::report::{Figures, Row};
use brunt_results::Percentile;
use brunt_results::comparison::{Ratio, words};
use brunt_results::figure::{self, COST, Column as FigureColumn, MEAN, P50, P90, P99, RATE, Shown};
use brunt_results::units::share;
use brunt_statistics::Spread;
use std::{borrow::Borrow, collections::BTreeSet};

pub struct Column {
    pub header: [String; 2],
    pub right: bool,
    /// Columns with a higher weight are omitted first on a narrow terminal; 0 is always shown.
    pub weight: u8,
    /// Whether the default table has it too.
    pub is_default: bool,
    pub cells: Vec<String>,
}

impl Column {
    pub fn is_verdict(&self) -> bool {
        self.header.iter().any(|line| line.starts_with("verdict"))
    }
}

/// Two header lines and share of a column of cells with best-effort jobs.
type Share = (&'static str, &'static str, fn(&Colocation) -> Option<f64>);

const COLOCATED: &[Share] = &[
    ("bad", "s %", Colocation::bad_seconds),
    ("BE rate", "%", |of| Some(of.estimate(|repeat| repeat.job_rate)?.median)),
    ("EMU", "%", |of| Some(of.estimate(|repeat| repeat.emu)?.median)),
];

/// A figure as its column shows it.
fn cell(figures: &Figures, one: &brunt_results::Figure, shown: Shown) -> String {
    let value = figures.get(one);
    match shown {
        _ if *one == figure::COST => figures.cost(),
        Shown::Time if figures.is_bound(one) => format!("> {}", format::time(value)),
        Shown::Time => format::time(value),
        Shown::Mebibytes => format::mebibytes(value),
        Shown::Percent => value.map_or(format::ABSENT.to_owned(), |value| format!("{value:.0} %")),
        Shown::Number(decimals) => format::number(value, decimals),
    }
}

/// The columns of these rows, in order. `always` names a setting shown even if it does not vary.
pub fn columns(rows: &[&Row], always: Option<&str>) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut add = |over: &str, name: &str, right: bool, weight: u8, show: &dyn Fn(&Row) -> String| {
        let header = [over.to_owned(), name.to_owned()];
        let cells = rows.iter().copied().map(show).collect();
        columns.push(Column { header, right, weight, is_default: weight == 0 || is_default(over, name), cells });
    };
    for name in names(rows).into_iter().filter(|name| always == Some(name) || !is_same(rows, name)) {
        let (over, under) = header(&name);
        add(over, under, true, 0, &|row| shown(row, &name));
    }
    let (unit, divisor) = rate_unit(rows);
    let rate = |value: f64| format!("{:.1}", value / divisor);
    add("", "target", false, 0, &|row| row.cell.target.clone());
    // A single repeat has no range.
    let repeated = rows.iter().any(|row| row.done > 1);
    if repeated {
        add("", "n", true, 2, &|row| row.done.to_string());
    }
    add("", unit, true, 0, &|row| row.figures.rate.map_or(format::ABSENT.to_owned(), |r| rate(r.median)));
    if repeated {
        // Too few repeats for an interval show their range.
        let is_sure = rows.iter().filter(|row| row.done > 0).all(|row| row.figures.rate_interval.is_some());
        let ends = |row: &Row| match row.figures.rate_interval {
            Some(interval) if is_sure => Some((interval.low, interval.high)),
            _ => row.figures.rate.map(|spread| (spread.low, spread.high)),
        };
        add("", if is_sure { "95 %" } else { "range" }, true, 5, &|row| {
            ends(row).map_or(format::ABSENT.to_owned(), |(low, high)| format!("{}..{}", rate(low), rate(high)))
        });
    }
    add_comparisons(rows, &mut add);
    for one in figure::all() {
        let Some(FigureColumn { header: [over, name], weight, shown, .. }) = &one.column else { continue };
        add(over, name, true, *weight, &|row| cell(&row.figures, one, *shown));
        if *one == figure::P99 {
            let interval = |row: &Row| row.figures.p99_interval;
            add("p99", "range", true, 6, &|row| {
                interval(row).map_or(format::ABSENT.to_owned(), |i| format::times(i.low, i.high))
            });
        }
    }
    let percentiles: BTreeSet<Percentile> =
        rows.iter().flat_map(|row| row.figures.percentiles_us.keys().copied()).collect();
    for percentile in percentiles {
        let value = |row: &Row| row.figures.percentiles_us.get(&percentile).copied().flatten();
        add("response", &percentile.to_string(), true, 1, &|row| format::time(value(row)));
    }
    for (over, name, show) in COLOCATED {
        let value = |row: &Row| row.colocated.as_ref().and_then(show).map(|share| share * 100.0);
        add(over, name, true, 0, &|row| format::number(value(row), 1));
    }
    let [over, name] = verdict_header(rows);
    add(&over, &name, false, 0, &Row::verdict);
    // Figures missing from all rows are listed once below the table.
    columns.retain(|column| column.is_verdict() || column.cells.iter().any(|cell| cell != format::ABSENT));
    columns
}

/// Adds a column: the two lines of its header, whether it is aligned right, its weight, and its cells.
type Add<'a> = dyn FnMut(&str, &str, bool, u8, &dyn Fn(&Row) -> String) + 'a;

/// Adds the ratios to the baseline and what belongs to them.
fn add_comparisons(rows: &[&Row], add: &mut Add) {
    add("x baseline", ratio_interval(rows), true, 0, &against_baseline);
    for figure in [&RATE, &COST, &MEAN, &P50, &P90, &P99] {
        // The first is shown above.
        let is_main = |row: &&Row| row.compared.as_ref().and_then(Compared::main).is_none_or(|r| r.figure == figure);
        if !rows.iter().all(is_main) {
            add("x baseline", figure.short(), true, 4, &|row| {
                let ratio = row.compared.as_ref().and_then(|compared| compared.of(figure));
                ratio.map_or(format::ABSENT.to_owned(), Ratio::text)
            });
        }
    }
    for (index, name) in compared::MERGED.iter().enumerate() {
        add("merged", name, true, 7, &|row| {
            let merged = row.compared.as_ref().and_then(|compared| compared.merged[index].as_ref());
            merged.map_or(format::ABSENT.to_owned(), compared::shown_merged)
        });
    }
    for figure in [&RATE, &COST] {
        add("starts, %", figure.short(), true, 6, &|row| {
            let ratio = row.compared.as_ref().and_then(|compared| compared.of(figure));
            ratio.and_then(|ratio| ratio.starts).map_or(format::ABSENT.to_owned(), compared::start_spread)
        });
    }
}

/// Thousands unless a rate is below 1000.
pub fn rate_unit(rows: &[&Row]) -> (&'static str, f64) {
    let thousands = rows.iter().filter_map(|row| row.figures.rate).all(|rate| rate.median >= 1000.0);
    if thousands { ("k req/s", 1e3) } else { ("req/s", 1.0) }
}

/// What the brackets after ratios to the baseline hold.
pub fn ratio_interval(rows: &[&Row]) -> &'static str {
    match () {
        () if rows.iter().any(|row| row.compared.is_some()) => "[95 %]",
        () if rows.iter().any(|row| row.done > 1) => "[range]",
        () => "",
    }
}

/// The ratio to the baseline: of slices if there are any, else of repeats.
pub fn against_baseline(row: &Row) -> String {
    match (&row.compared, row.against_baseline) {
        (Some(compared), _) => compared.ratio(),
        (None, None) => format::ABSENT.to_owned(),
        (None, Some(Spread { median: 1.0, low: 1.0, high: 1.0 })) => "x1".to_owned(),
        (None, Some(ratio)) => words::ratio(ratio.median, (row.done > 1).then_some((ratio.low, ratio.high))),
    }
}

/// Header of the verdicts: with the margin if they are on ratios.
pub fn verdict_header(rows: &[&Row]) -> [String; 2] {
    match rows.iter().find_map(|row| row.compared.as_ref()) {
        Some(compared) => ["verdict,".to_owned(), format!("margin {}", share(compared.margin))],
        None => [String::new(), "verdict".to_owned()],
    }
}

/// Removes the columns of the highest weight; `false` if only those are left that are always shown.
pub fn drop_least(columns: &mut Vec<Column>) -> bool {
    let heaviest = columns.iter().map(|column| column.weight).max().unwrap_or(0);
    columns.retain(|column| heaviest == 0 || column.weight != heaviest);
    heaviest > 0
}

/// Whether the default table has a column of figures that a narrow terminal omits.
fn is_default(over: &str, name: &str) -> bool {
    let mut columns = figure::all().filter_map(|one| one.column.as_ref());
    columns.any(|column| column.is_default && column.header == [over, name])
}

pub fn varying<R: Borrow<Row>>(rows: &[R]) -> Vec<String> {
    names(rows).into_iter().filter(|name| !is_same(rows, name)).collect()
}

/// Names of all settings, built-in ones first; totals and amounts per core share a name.
pub fn names<R: Borrow<Row>>(rows: &[R]) -> Vec<String> {
    let mut names: Vec<String> = Settings::default().names().map(str::to_owned).collect();
    for own in rows.iter().flat_map(|row| row.borrow().cell.settings.custom_axes.keys()) {
        if !names.contains(own) {
            names.push(own.clone());
        }
    }
    names
}

fn is_same<R: Borrow<Row>>(rows: &[R], name: &str) -> bool {
    let mut values = rows.iter().map(|row| shown(row.borrow(), name));
    let first = values.next();
    values.all(|value| Some(value) == first)
}

pub fn shown(row: &Row, name: &str) -> String {
    let cores = row.cell.placement.client.count();
    let value = match name {
        "connections" => format::amount(row.cell.settings.connections, cores, |n| n.to_string()),
        "rate" => Some(format::rate(row.cell.settings.rate, cores)),
        "size" => Some(spaced(&row.cell.settings.size.to_string())),
        name => row.cell.value(name),
    };
    value.unwrap_or(format::ABSENT.to_owned())
}

/// `100B` as `100 B`.
pub fn spaced(value: &str) -> String {
    let digits = value.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(value.len());
    format!("{} {}", &value[..digits], &value[digits..])
}

pub fn header(name: &str) -> (&str, &str) {
    match name {
        "server_cores" => ("server", "cores"),
        "client_cores" => ("gen.", "cores"),
        "client_backend" => ("gen.", "backend"),
        "client_threads" => ("gen.", "threads"),
        "connections" => ("connec-", "tions"),
        "rate" => ("offered", "req/s"),
        "keepalive" => ("keep-", "alive"),
        "vary" => ("different", "requests"),
        "tls" => ("", "TLS"),
        other => ("", other),
    }
}
