//! Loads of rows: equality and descriptions in words.

use super::axis::Axis;
use crate::format::plural;
use crate::plan::settings::{Amount, ClientCores};
use crate::report::Row;
use crate::report::tables::columns::{names, shown, spaced};
use brunt_results::{Count, Rate};

/// Names of the settings that distinguish rows, without the axis and the `over` axis.
pub fn telling(rows: &[&Row], axis: Option<Axis>, over: Option<&str>) -> Vec<String> {
    let is_free = |name: &str| axis.is_some_and(|axis| axis.name() == name) || over == Some(name);
    names(rows).into_iter().filter(|name| !is_free(name)).collect()
}

/// Equal for rows with the same settings; 80 connections per core are the same load on 1 core and on 4.
pub fn key(row: &Row, names: &[String]) -> Vec<Option<String>> {
    names.iter().map(|name| specified(row, name)).collect()
}

fn specified(row: &Row, name: &str) -> Option<String> {
    let settings = &row.cell.settings;
    match name {
        "connections" => settings.get(name).or_else(|| Some(format!("{} each", settings.get("connections_per_core")?))),
        "rate" => settings.get(name).or_else(|| Some(format!("{} each", settings.get("rate_per_core")?))),
        name => settings.get(name),
    }
}

pub fn is_same(rows: &[&Row], name: &str) -> bool {
    rows.split_first().is_none_or(|(first, others)| {
        let known = specified(first, name);
        others.iter().all(|row| specified(row, name) == known)
    })
}

/// Describes the setting `name` of rows that share it; `None` if there is nothing to describe.
pub fn phrase(rows: &[&Row], name: &str) -> Option<String> {
    let cell = &rows.first()?.cell;
    let settings = &cell.settings;
    // An amount per core gives different totals for different numbers of cores.
    let is_one_total = rows.iter().all(|row| shown(row, name) == shown(rows[0], name));
    Some(match name {
        "server_cores" => plural(settings.server_cores, "server core"),
        "client_cores" if is_one_total => plural(cell.placement.client.count(), "generator core"),
        "client_cores" => match settings.client_cores {
            ClientCores::Fixed(n) => plural(n, "generator core"),
            ClientCores::PerServerCore(n) => format!("{} a server core", plural(n, "generator core")),
            ClientCores::Rest => "generator on all other cores".to_owned(),
        },
        "client_backend" => format!("generator on {}", settings.client_backend.as_ref()?),
        "client_threads" => plural(settings.client_threads? as usize, "generator thread"),
        "tester" => format!("tester {}", settings.get(name)?),
        "path" => format!("GET {}", settings.path.as_ref()?),
        "keepalive" if !settings.keeps_alive() => "one connection a request".to_owned(),
        "keepalive" => return None,
        "vary" => format!("{} different requests", Count(settings.vary?)),
        "tls" if settings.uses_tls() => "over TLS".to_owned(),
        "tls" => return None,
        "size" if !cell.has_size() => return None,
        "size" => spaced(&settings.size.to_string()),
        "connections" => match settings.connections? {
            Amount::PerCore(n) if !is_one_total => format!("{} connections a generator core", Count(n)),
            _ => match shown(rows[0], name).as_str() {
                "1" => "1 connection".to_owned(),
                number => format!("{number} connections"),
            },
        },
        "rate" => match settings.rate {
            None => "closed loop".to_owned(),
            Some(Amount::PerCore(rate)) if !is_one_total => format!("{} req/s offered a generator core", Rate(rate)),
            Some(_) => format!("{} req/s offered", shown(rows[0], name)),
        },
        "arrival" => format!("{} arrivals", settings.arrival.as_ref()?),
        "duration" => format!("{} measured", spaced(&settings.duration.to_string())),
        "warmup" | "timeout" => format!("{name} {}", spaced(&settings.get(name)?)),
        own => format!("{own} {}", settings.get(own)?),
    })
}

/// Descriptions of the named settings that are equal in all rows.
pub fn phrases<'a>(rows: &[&Row], names: impl IntoIterator<Item = &'a String>) -> String {
    let same = names.into_iter().filter(|name| is_same(rows, name));
    same.filter_map(|name| phrase(rows, name)).collect::<Vec<_>>().join(", ")
}
