//! `when` and `except`: the cells that a sweep, a target or an override applies to. Pure.

use super::PHASE;
use super::references::{FilterRef, References};
use super::source::{Source, Table, Value, entries, one_or_list};
use crate::plan::PlanError;
use serde::Serialize;
use std::collections::BTreeMap;

/// The values that match for each name, in normal form; all names must match.
pub type Pattern = BTreeMap<String, Vec<String>>;

/// A set of cells; without patterns, all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Filter {
    /// At least one must match, if there are any.
    pub when: Vec<Pattern>,
    pub except: Vec<Pattern>,
}

impl Filter {
    pub fn is_empty(&self) -> bool {
        self.when.is_empty() && self.except.is_empty()
    }

    pub fn admits(&self, value: impl Fn(&str) -> Option<String>) -> bool {
        let matches = |pattern: &Pattern| {
            pattern.iter().all(|(name, values)| value(name).is_some_and(|value| values.contains(&value)))
        };
        (self.when.is_empty() || self.when.iter().any(matches)) && !self.except.iter().any(matches)
    }

    pub fn names(&self, name: &str) -> bool {
        self.when.iter().chain(&self.except).any(|pattern| pattern.contains_key(name))
    }

    /// Puts other targets in the place of one; patterns of any other target match nothing then.
    pub(super) fn replace_target(&mut self, target: &str, by: &[String]) {
        for values in self.when.iter_mut().chain(&mut self.except).filter_map(|pattern| pattern.get_mut("target")) {
            *values = if values.iter().any(|value| value == target) { by.to_vec() } else { Vec::new() };
        }
    }
}

/// `when` and `except` of a table.
pub(super) fn filter(table: &Table, of_target: bool, references: &mut References) -> Result<Filter, PlanError> {
    let mut of = |key| {
        let patterns = table.read(key, |text, value, key| patterns(text, key, value, of_target, references))?;
        Ok(patterns.unwrap_or_default())
    };
    Ok(Filter { when: of("when")?, except: of("except")? })
}

/// Parses a pattern, or a list of them.
fn patterns(
    text: &Source,
    key: &str,
    value: &Value,
    of_target: bool,
    references: &mut References,
) -> Result<Vec<Pattern>, PlanError> {
    let mut patterns = Vec::new();
    for table in one_or_list(value) {
        let form = || format!("{key} must be a table such as {{ size = \"1KiB\" }}, or a list of them");
        let table = table.get_ref().as_table().ok_or_else(|| text.error(table.span(), form()))?;
        let mut pattern = Pattern::new();
        for (name, place, value) in entries(table) {
            let mut refer = |value: Option<String>, place| {
                references.filters.push(FilterRef { name: name.to_owned(), value, place, of_target });
            };
            refer(None, place);
            let mut values = Vec::new();
            for value in one_or_list(value) {
                let usual = match name {
                    "target" | PHASE => text.scalar(value, name)?,
                    _ => text.setting(value, name)?,
                };
                refer(Some(usual.clone()), value.span());
                values.push(usual);
            }
            pattern.insert(name.to_owned(), values);
        }
        if pattern.values().any(Vec::is_empty) || pattern.is_empty() {
            let message = format!(
                "{key} names no value, so it would match {}",
                if pattern.is_empty() { "every cell" } else { "none" }
            );
            return Err(text.error(value.span(), message));
        }
        patterns.push(pattern);
    }
    if patterns.is_empty() {
        return Err(text.error(value.span(), format!("{key} is an empty list: name a cell, or remove it")));
    }
    Ok(patterns)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pattern(pairs: &[(&str, &[&str])]) -> Pattern {
        let values = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
        pairs.iter().map(|(name, v)| ((*name).to_owned(), values(v))).collect()
    }

    #[test]
    fn all_names_of_one_pattern_and_any_one_pattern_must_match() {
        let cell = |name: &str| match name {
            "size" => Some("1KiB".to_owned()),
            "rate" => Some("max".to_owned()),
            _ => None,
        };
        let small = || pattern(&[("size", &["100B", "1KiB"])]);
        let both = || pattern(&[("size", &["1KiB"]), ("rate", &["20k"])]);
        let filter = |when: &[Pattern], except: &[Pattern]| Filter { when: when.to_vec(), except: except.to_vec() };
        assert!(filter(&[], &[]).admits(cell));
        assert!(filter(&[both(), small()], &[]).admits(cell));
        assert!(!filter(&[both()], &[]).admits(cell));
        assert!(filter(&[], &[both()]).admits(cell));
        assert!(!filter(&[small()], &[both(), small()]).admits(cell));
        assert!(
            !filter(&[pattern(&[("backlog", &["1"])])], &[]).admits(cell),
            "a name without a value matches nothing"
        );
    }
}
