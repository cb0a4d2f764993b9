//! `--only target=uring,connections=80`: selects cells of a plan. Pure.

use super::cells::{Cell, Cells, SkippedCell, value_in};
use crate::group::distinct;
use crate::plan::settings::{NAMES, Settings};
use crate::plan::{PHASE, Plan};
use brunt_diagnostic::suggest::did_you_mean;
use std::collections::BTreeMap;

/// The values selected for each name; a name that is absent admits every value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(BTreeMap<String, Vec<String>>);

impl Selection {
    /// Parses `name=value` pairs separated by commas. The same name again adds a value; different names narrow.
    pub fn parse(words: &[String], plan: &Plan) -> Result<Self, String> {
        let custom = plan.custom_axes().map(|axis| axis.name.as_str());
        let phase = plan.phases.first().map(|_| PHASE);
        // Several sweeps may vary one name.
        let names = distinct(std::iter::once("target").chain(NAMES.iter().copied()).chain(phase).chain(custom));
        let mut wanted: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in words.iter().flat_map(|word| word.split(',')) {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(format!("--only '{pair}' is not NAME=VALUE, such as target={}", plan.targets[0].name));
            };
            let (name, value) = (name.trim(), value.trim());
            if !names.contains(&name) {
                return Err(format!("--only names the unknown '{name}'{}", did_you_mean(name, &names)));
            }
            let value = match name {
                "target" => value.to_owned(),
                _ => Settings::default().set(name, value).map_err(|e| format!("--only {name}: {e}"))?,
            };
            wanted.entry(name.to_owned()).or_default().push(value);
        }
        Ok(Self(wanted))
    }

    pub fn admits(&self, cell: &Cell) -> bool {
        self.0.iter().all(|(name, values)| values_of(cell, name).iter().any(|value| values.contains(value)))
    }

    /// Whether a skipped cell is selected, as far as its id tells.
    pub fn admits_skipped(&self, cell: &SkippedCell) -> bool {
        self.0.iter().all(|(name, values)| cell.value(name).is_none_or(|value| values.iter().any(|w| w == value)))
    }

    /// Refuses a value that no cell has, so that a typing error does not silently select nothing.
    pub fn check(&self, cells: &Cells, plan: &Plan) -> Result<(), String> {
        for (name, values) in &self.0 {
            let known: Vec<String> = match name.as_str() {
                "target" => plan.targets.iter().map(|target| target.name.clone()).collect(),
                _ => {
                    let skipped = cells.skipped.iter().filter_map(|cell| Some(cell.value(name)?.to_owned()));
                    cells.run.iter().flat_map(|cell| values_of(cell, name)).chain(skipped).collect()
                }
            };
            let known = distinct(known.iter().map(String::as_str));
            if let Some(value) = values.iter().find(|value| !known.contains(&value.as_str())) {
                let remedy = match known.as_slice() {
                    [] => format!(": no cell of the plan sets {name}"),
                    _ if name == "target" => did_you_mean(value, &known),
                    // Similar numbers are not typing errors.
                    _ => format!("; known are {}", known.join(", ")),
                };
                return Err(format!("--only {name}={value} selects nothing{remedy}"));
            }
        }
        Ok(())
    }
}

/// The values that select a cell under this name: the generator's cores as a number and as planned (`4x`); a rate as in
/// the id, because a phase may have a share of it.
fn values_of(cell: &Cell, name: &str) -> Vec<String> {
    if let Some(rate) = value_in(cell.combination(), name).filter(|_| name == "rate") {
        return vec![rate.to_owned()];
    }
    let mut values: Vec<String> = cell.value(name).into_iter().chain(cell.settings.get(name)).collect();
    values.dedup();
    values
}
