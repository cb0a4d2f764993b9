//! Results in other programs' formats. Pure transforms of what a directory holds: nothing is computed that is not in it.

mod csv;
mod hgrm;

use crate::{
    Error,
    pace::Paces,
    settings::NAMES,
    store::{Kept, Store},
};
use outcome::{directory::Directory, hlog};
use std::{collections::BTreeMap, fs, path::Path};

/// Tags of an interval log.
pub const TAGS: [&str; 4] = ["response", "service", "lag", "error"];

/// Every trial of a run, or the one result of `brunt load`, as a line of comma-separated values (RFC 4180): the values of its
/// cell, then every key of `result.json` by its path, as `latency.response.p99_us`. A figure that is `null` is empty.
///
/// # Errors
/// The directory holds no results, or they cannot be read.
pub fn csv(dir: &Path) -> Result<String, Error> {
    let store = Store::at(dir);
    let mut table = csv::Table::default();
    if let Some(experiment) = store.experiment()? {
        let paces = Paces::of(&store, &experiment);
        for cell in &experiment.cells.run {
            let own = cell.settings.named.keys().map(String::as_str);
            // Amounts for each core are totals here.
            let names = NAMES.iter().copied().filter(|name| !name.ends_with("_per_core")).chain(own);
            let values: Vec<(String, String)> = std::iter::once(("target".to_owned(), cell.target.clone()))
                .chain(names.map(|name| (name.to_owned(), cell.value(name).unwrap_or_default())))
                .collect();
            for repeat in store.repeats(&cell.id) {
                if let Some(Kept::Done(result)) = paces.kept(&store, cell, repeat) {
                    let lead = values.iter().cloned().chain([("repeat".to_owned(), repeat.to_string())]);
                    table.add(lead, &result)?;
                }
            }
        }
    } else if Directory::open(dir).is_complete() {
        table.add(std::iter::empty(), &Directory::open(dir).read_result()?)?;
    }
    if table.is_empty() {
        return Err(Error::Usage(format!(
            "{} holds no results: neither an experiment with a finished trial nor result.json",
            dir.display()
        )));
    }
    Ok(table.text())
}

/// One distribution of a trial as HdrHistogram prints percentiles (`.hgrm`), in milliseconds, for its plotter and for
/// readers of wrk2's output.
///
/// # Errors
/// The directory holds no interval log, or it cannot be read, or has nothing of that tag.
pub fn hgrm(dir: &Path, tag: &str) -> Result<String, Error> {
    let place = dir.join("latency.hlog");
    let log = match fs::read(&place) {
        Ok(log) => log,
        Err(_) if Store::at(dir).experiment()?.is_some() => {
            return Err(Error::Usage(format!(
                "{} holds many trials: name one of them, as {}/trials/CELL/1",
                dir.display(),
                dir.display()
            )));
        }
        Err(error) => return Err(Error::Usage(format!("{}: {error}", place.display()))),
    };
    let failed = |error: String| Error::Failed(format!("{}: {error}", place.display()));
    let whole = hlog::distribution(&log, tag).map_err(failed)?;
    if whole.is_empty() {
        return Err(Error::Usage(format!("{} holds nothing of '{tag}'", place.display())));
    }
    Ok(hgrm::text(&whole))
}

/// A JSON value as columns: objects by path, lists in one field.
fn flat(path: &str, value: &serde_json::Value, columns: &mut BTreeMap<String, String>) {
    match value {
        serde_json::Value::Object(map) => {
            for (key, value) in map {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                flat(&path, value, columns);
            }
        }
        other => {
            columns.insert(path.to_owned(), plain(other));
        }
    }
}

fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}
