//! `--only target=uring,connections=80`: which cells of a plan are wanted. Pure.

use super::cells::{Cell, Cells};
use crate::{
    plan::{
        PHASE, Plan,
        settings::{NAMES, Settings},
    },
    suggest::did_you_mean,
};
use std::collections::BTreeMap;

/// For each name, the values that are wanted; a name that is not here admits every value.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection(BTreeMap<String, Vec<String>>);

impl Selection {
    /// Reads `name=value` pairs separated by commas. The same name again adds a value; different names narrow.
    pub fn parse(words: &[String], plan: &Plan) -> Result<Self, String> {
        let own = plan.custom_axes().map(|axis| axis.name.as_str());
        let phase = plan.phases.first().map(|_| PHASE);
        let mut names: Vec<&str> =
            std::iter::once("target").chain(NAMES.iter().copied()).chain(phase).chain(own).collect();
        names.dedup();
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

    /// Whether the cell is wanted.
    pub fn admits(&self, cell: &Cell) -> bool {
        self.0.iter().all(|(name, values)| values_of(cell, name).iter().any(|value| values.contains(value)))
    }

    /// Whether a skipped cell of that id is wanted, as far as its name tells.
    pub fn admits_id(&self, id: &str) -> bool {
        let pairs: BTreeMap<&str, &str> = id.split(',').filter_map(|pair| pair.split_once('=')).collect();
        self.0.iter().all(|(name, values)| pairs.get(name.as_str()).is_none_or(|v| values.iter().any(|w| w == v)))
    }

    /// Names a value that no cell has, so that a slip does not select nothing in silence.
    pub fn check(&self, cells: &Cells, plan: &Plan) -> Result<(), String> {
        for (name, values) in &self.0 {
            let mut known: Vec<String> = cells.run.iter().flat_map(|cell| values_of(cell, name)).collect();
            let skipped = cells.skipped.iter().flat_map(|cell| cell.id.split(','));
            let skipped = skipped.filter_map(|pair| pair.split_once('=')).filter(|(key, _)| key == name);
            known.extend(skipped.map(|(_, value)| value.to_owned()));
            if name == "target" {
                known = plan.targets.iter().map(|target| target.name.clone()).collect();
            }
            let mut seen = std::collections::BTreeSet::new();
            known.retain(|value| seen.insert(value.clone()));
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            if let Some(value) = values.iter().find(|value| !known.contains(&value.as_str())) {
                return Err(match known.as_slice() {
                    [] => format!("--only {name}={value} selects nothing: no cell of the plan sets {name}"),
                    _ if name == "target" => {
                        format!("--only {name}={value} selects nothing{}", did_you_mean(value, &known))
                    }
                    // Numbers that look alike are not slips for each other.
                    _ => format!("--only {name}={value} selects nothing; known are {}", known.join(", ")),
                });
            }
        }
        Ok(())
    }
}

/// What a cell answers to under this name: the number of the generator's cores also as the plan puts it (`4x`), and a
/// rate as the cell's name has it, for a phase may make a share of it.
fn values_of(cell: &Cell, name: &str) -> Vec<String> {
    let mut pairs = cell.swept().split(',').filter_map(|pair| pair.split_once('='));
    if let Some((_, rate)) = pairs.find(|(swept, _)| name == "rate" && *swept == name) {
        return vec![rate.to_owned()];
    }
    let mut values: Vec<String> = cell.value(name).into_iter().chain(cell.settings.get(name)).collect();
    values.dedup();
    values
}
