//! The slices of a run as CSV: counts and percentiles of each, from which every ratio of a report can be computed again.

use super::csv::{self, Table};
use crate::run_directory::RunDirectory;
use crate::schedule::pairs;
use brunt_results::Error;
use serde_json::Value;
use std::path::Path;

/// What tells the slices of a load apart.
const KEY: [&str; 4] = ["start", "round", "position", "target"];
/// Compressed distributions, and lists of pairs.
const LEFT_OUT: [&str; 6] = ["response", "service", "lag", "idle_cpu_us", "shared_cpu_us", "statuses"];

pub(super) fn text(dir: &Path) -> Result<String, Error> {
    let store = RunDirectory::at(dir);
    let loads = store.experiment()?.map(|experiment| store.sliced_loads(&experiment)).transpose()?.unwrap_or_default();
    if loads.is_empty() {
        return Err(Error::Usage(format!(
            "{} holds no slices: it is not the directory of a run whose targets took turns by slices",
            dir.display()
        )));
    }
    let mut table = Table::default();
    for load in &loads {
        let settings: Vec<(String, String)> =
            pairs(&load.load).map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
        for slice in &load.slices {
            let mut fields = csv::json(slice)?;
            LEFT_OUT.iter().for_each(|name| drop(take(&mut fields, name)));
            let key = KEY.map(|name| (name.to_owned(), csv::plain(&take(&mut fields, name))));
            round(&mut fields);
            table.add(settings.iter().cloned().chain(key), &fields);
        }
    }
    Ok(table.text())
}

/// Removes a field; null if there is none.
fn take(fields: &mut Value, name: &str) -> Value {
    fields.as_object_mut().and_then(|fields| fields.remove(name)).unwrap_or_default()
}

/// Rounds to a nanosecond or a thousandth of a percent: a clock has no more digits.
fn round(value: &mut Value) {
    match value {
        Value::Object(fields) => fields.values_mut().for_each(round),
        value => {
            if let Some(number) = value.as_f64().filter(|_| !value.is_u64()) {
                *value = ((number * 1e3).round() / 1e3).into();
            }
        }
    }
}
