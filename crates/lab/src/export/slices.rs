//! The slices of a run as CSV: counts and percentiles of each, from which every ratio of a report can be computed again.

use super::csv::{self, Table};
use crate::Error;
use crate::run_directory::RunDirectory;
use crate::schedule::pairs;
use crate::slices::record::Slice;
use std::path::Path;

/// Compressed distributions, and lists of pairs.
const LEFT_OUT: [&str; 5] = ["response", "service", "lag", "idle_cpu_us", "statuses"];

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
            table.add(settings.iter().cloned().chain(key(slice)), &rest(slice)?);
        }
    }
    Ok(table.text())
}

fn key(slice: &Slice) -> [(String, String); 4] {
    [
        ("start".to_owned(), slice.start.to_string()),
        ("round".to_owned(), slice.round.to_string()),
        ("position".to_owned(), slice.position.to_string()),
        ("target".to_owned(), slice.target.clone()),
    ]
}

fn rest(slice: &Slice) -> Result<serde_json::Value, Error> {
    let mut value = csv::json(slice)?;
    if let Some(fields) = value.as_object_mut() {
        LEFT_OUT.iter().chain(&["start", "round", "position", "target"]).for_each(|name| {
            fields.remove(*name);
        });
        // Times of microseconds with more digits than a clock has.
        fields.values_mut().for_each(round);
    }
    Ok(value)
}

/// Rounds to a nanosecond or a thousandth of a percent.
fn round(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(fields) => fields.values_mut().for_each(round),
        value => {
            if let Some(number) = value.as_f64().filter(|_| !value.is_u64()) {
                *value = ((number * 1e3).round() / 1e3).into();
            }
        }
    }
}
