//! Columns of the table, the same for every output: the settings that vary, then the figures.

use crate::{
    format,
    plan::settings::NAMES,
    report::{Row, http},
};
use std::borrow::Borrow;

pub struct Column {
    pub header: [String; 2],
    pub right: bool,
    /// Columns with a higher weight are omitted first on a narrow terminal; 0 is always shown.
    pub weight: u8,
    pub cells: Vec<String>,
}

/// The columns of these rows, in order. `always` names a setting shown even if it does not vary.
pub fn columns(rows: &[&Row], always: Option<&str>) -> Vec<Column> {
    let mut columns = Vec::new();
    let mut add = |over: &str, name: &str, right: bool, weight: u8, show: &dyn Fn(&Row) -> String| {
        let header = [over.to_owned(), name.to_owned()];
        columns.push(Column { header, right, weight, cells: rows.iter().copied().map(show).collect() });
    };
    for name in names(rows).into_iter().filter(|name| always == Some(name) || !is_same(rows, name)) {
        let (over, under) = header(&name);
        add(over, under, true, 0, &|row| shown(row, &name));
    }
    // In thousands unless a rate is below 1000.
    let thousands = rows.iter().filter_map(|row| row.figures.rate).all(|rate| rate.median >= 1000.0);
    let (unit, divisor) = if thousands { ("k req/s", 1e3) } else { ("req/s", 1.0) };
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
        add("", if is_sure { "95 %" } else { "range" }, true, 5, &|row| match ends(row) {
            Some((low, high)) => format!("{}..{}", rate(low), rate(high)),
            None => format::ABSENT.to_owned(),
        });
    }
    add("x base-", "line", true, 0, &|row| match row.against_baseline {
        Some(ratio) => format!("{:.3}", ratio.median),
        None => format::ABSENT.to_owned(),
    });
    if repeated {
        add("x base-", "line, range", true, 5, &|row| match row.against_baseline {
            Some(ratio) => format!("{:.2}..{:.2}", ratio.low, ratio.high),
            None => format::ABSENT.to_owned(),
        });
    }
    add("response", "p50", true, 0, &|row| format::time(row.figures.p50_us));
    add("response", "p99", true, 0, &|row| format::time(row.figures.p99_us));
    add("p99", "range", true, 6, &|row| match row.figures.p99_interval {
        Some(interval) => format::times(interval.low, interval.high),
        None => format::ABSENT.to_owned(),
    });
    add("response", "p99.9", true, 3, &|row| format::time(row.figures.p999_us));
    add("service", "mean", true, 6, &|row| format::time(row.figures.service_mean_us));
    add("server", "user %", true, 1, &|row| format::number(row.figures.cpu_user_percent, 1));
    add("server", "total %", true, 0, &|row| format::number(row.figures.cpu_percent, 1));
    add("server", "MiB", true, 7, &|row| format::mebibytes(row.figures.rss_bytes));
    add("bytes", "per conn", true, 6, &|row| format::number(row.figures.rss_per_connection_bytes, 0));
    add("kernel", "per conn", true, 6, &|row| format::number(row.figures.slab_per_connection_bytes, 0));
    add("", "conn/s", true, 6, &|row| format::number(row.figures.connect_rate, 0));
    add("CPU us", "per req", true, 1, &|row| format::number(row.figures.cpu_us_per_request, 2));
    add("instr", "per req", true, 4, &|row| format::number(row.figures.instructions_user_per_request, 0));
    for column in http::COLUMNS {
        add(column.over, column.name, true, column.weight, &|row| (column.show)(&row.http));
    }
    add("", "verdict", false, 0, &Row::verdict);
    // Figures missing from all rows are listed once below the table.
    columns.retain(|column| column.header[1] == "verdict" || column.cells.iter().any(|cell| cell != format::ABSENT));
    columns
}

pub fn varying<R: Borrow<Row>>(rows: &[R]) -> Vec<String> {
    names(rows).into_iter().filter(|name| !is_same(rows, name)).collect()
}

/// Names of all settings, built-in ones first; totals and amounts per core share a name.
pub fn names<R: Borrow<Row>>(rows: &[R]) -> Vec<String> {
    let mut names: Vec<String> =
        NAMES.iter().filter(|name| !name.ends_with("_per_core")).map(|n| (*n).to_owned()).collect();
    for row in rows.iter().map(R::borrow) {
        for own in row.cell.settings.custom_axes.keys().filter(|own| !names.contains(own)).cloned().collect::<Vec<_>>()
        {
            names.push(own);
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

fn header(name: &str) -> (&str, &str) {
    match name {
        "server_cores" => ("server", "cores"),
        "client_cores" => ("gen.", "cores"),
        "connections" => ("connec-", "tions"),
        "rate" => ("offered", "req/s"),
        "keepalive" => ("keep-", "alive"),
        "vary" => ("different", "requests"),
        "tls" => ("", "TLS"),
        other => ("", other),
    }
}
