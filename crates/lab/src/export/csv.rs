//! CSV writer. RFC 4180: lines end in CRLF; fields with a comma, quote or line break are quoted, and quotes in them
//! doubled.

use super::trials::Trials;
use brunt_results::{Error, figure};
use std::collections::BTreeMap;

pub(super) fn text(trials: &Trials) -> Result<String, Error> {
    let mut table = Table::default();
    for group in &trials.groups {
        let values = group.values();
        for trial in &group.trials {
            // Single results have no cell and no repeat.
            let repeat = group.cell.as_ref().map(|_| ("repeat".to_owned(), trial.repeat.to_string()));
            table.add(values.iter().cloned().chain(repeat), &json(&figure::written(&trial.result))?);
        }
    }
    Ok(table.text())
}

pub(super) fn json(value: &impl serde::Serialize) -> Result<serde_json::Value, Error> {
    serde_json::to_value(value).map_err(|e| Error::Failed(e.to_string()))
}

/// Lines, and a column for each name in any of them, in the order in which names first occur.
#[derive(Debug, Default)]
pub(super) struct Table {
    columns: Vec<String>,
    lines: Vec<BTreeMap<String, String>>,
}

impl Table {
    /// Adds a line: `lead`, then every key of `rest` by its path, sorted.
    pub(super) fn add(&mut self, lead: impl IntoIterator<Item = (String, String)>, rest: &serde_json::Value) {
        let (mut line, mut flattened) = (BTreeMap::new(), BTreeMap::new());
        flat("", rest, &mut flattened);
        for (name, value) in lead.into_iter().chain(flattened) {
            if !self.columns.contains(&name) {
                self.columns.push(name.clone());
            }
            line.insert(name, value);
        }
        self.lines.push(line);
    }

    pub(super) fn text(&self) -> String {
        let line = |fields: Vec<String>| format!("{}\r\n", fields.join(","));
        let mut text = line(self.columns.iter().map(|name| quoted(name)).collect());
        for values in &self.lines {
            let field = |name: &String| values.get(name).map_or(String::new(), |value| quoted(value));
            text += &line(self.columns.iter().map(field).collect());
        }
        text
    }
}

fn quoted(field: &str) -> String {
    if field.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", field.replace('"', "\"\""))
    } else {
        field.to_owned()
    }
}

/// Flattens a JSON value: objects by path, lists in one field.
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

/// A value in one field.
pub(super) fn plain(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Null => String::new(),
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Array(values) => values.iter().map(plain).collect::<Vec<_>>().join("; "),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::RunResult;

    #[test]
    fn fields_that_would_break_a_line_are_quoted_and_lines_may_have_columns_of_their_own() {
        let mut table = Table::default();
        let mut result = RunResult::new("a \"tester\", or two");
        result.requests.rate = 12.5;
        table.add([("target".to_owned(), "x".to_owned())], &json(&result).unwrap());
        table.add([("backlog".to_owned(), "8".to_owned())], &json(&RunResult::new("t")).unwrap());
        let text = table.text();
        let lines: Vec<&str> = text.split("\r\n").collect();
        assert!(lines[0].starts_with("target,bytes.good_body,") && lines[0].ends_with(",backlog"), "{text}");
        assert!(lines[1].contains(",\"a \"\"tester\"\", or two\",") && lines[1].contains(",12.5,"), "{text}");
        assert!(lines[1].starts_with("x,") && lines[2].starts_with(',') && lines[2].ends_with(",8"), "{text}");
        assert_eq!(lines[3..], [""]);
    }
}
