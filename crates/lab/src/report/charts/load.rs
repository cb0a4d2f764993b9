//! Under which load rows were measured: what makes two rows comparable, and how a title says it.

use super::axis::Axis;
use crate::{
    format::plural,
    plan::settings::{Amount, ClientCores},
    report::{
        Row,
        tables::columns::{names, shown, spaced},
    },
};
use brunt_results::{Count, Rate};

/// The names of the values that may tell rows apart, but for the axis and for what rows were chosen by.
pub fn telling(rows: &[&Row], axis: Option<Axis>, over: Option<&str>) -> Vec<String> {
    let is_free = |name: &str| axis.is_some_and(|axis| axis.name() == name) || over == Some(name);
    names(rows).into_iter().filter(|name| !is_free(name)).collect()
}

/// Equal for rows that differ in the target and the free values alone. Amounts count as the plan gives them: 80
/// connections a core are the same load on 1 core and on 4.
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

/// Whether all rows have the same value.
pub fn is_same(rows: &[&Row], name: &str) -> bool {
    rows.windows(2).all(|pair| specified(pair[0], name) == specified(pair[1], name))
}

/// What rows of one value under that name have in common, as people say it; `None` if there is nothing to say.
pub fn phrase(rows: &[&Row], name: &str) -> Option<String> {
    let cell = &rows.first()?.cell;
    let settings = &cell.settings;
    // A value for each core is a different total for each number of cores.
    let is_one_total = rows.iter().all(|row| shown(row, name) == shown(rows[0], name));
    Some(match name {
        "server_cores" => plural(settings.server_cores, "server core"),
        "client_cores" if is_one_total => plural(cell.placement.client.count(), "generator core"),
        "client_cores" => match settings.client_cores {
            ClientCores::Fixed(n) => plural(n, "generator core"),
            ClientCores::PerServerCore(n) => format!("{} a server core", plural(n, "generator core")),
            ClientCores::Rest => "generator on all other cores".to_owned(),
        },
        "tester" => format!("tester {}", settings.get(name)?),
        "path" => format!("GET {}", settings.path.as_ref()?),
        "keepalive" if !settings.keeps_alive() => "one connection a request".to_owned(),
        "keepalive" => return None,
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

/// The phrases of those names that are the same in all rows, in order.
pub fn phrases<'a>(rows: &[&Row], names: impl IntoIterator<Item = &'a String>) -> String {
    let same = names.into_iter().filter(|name| is_same(rows, name));
    same.filter_map(|name| phrase(rows, name)).collect::<Vec<_>>().join(", ")
}
