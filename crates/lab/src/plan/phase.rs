//! Values that differ between cells without being swept: those of phases and of overrides.

use super::filter::filter;
use super::references::{References, SettingRef};
use super::source::{Source, Table, entries};
use super::{Filter, PHASE, keys};
use crate::plan::PlanError;
use crate::plan::settings::{Amount, NAMES, Settings};
use serde::Serialize;
use toml::de::DeTable;

/// Settings that no phase can change: cores are assigned when the target is started.
const FIXED: &[&str] = &["server_cores", "client_cores"];

/// Names and values of settings in normal form, in the order of the plan. The rate of a phase may be a [`share`].
pub type Values = Vec<(String, String)>;

/// One of several consecutive loads on one start of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Phase {
    pub name: String,
    pub set: Values,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Override {
    pub filter: Filter,
    /// Replaces values of load and phase.
    pub set: Values,
}

impl Phase {
    pub fn shares_rate(&self) -> bool {
        self.set.iter().any(|(name, value)| name == "rate" && share(value).is_some())
    }
}

pub(super) fn phase(text: &Source, table: &DeTable, references: &mut References) -> Result<Phase, PlanError> {
    if let Some((key, place, _)) = entries(table).into_iter().find(|(key, ..)| FIXED.contains(key)) {
        let message = format!("{key} is fixed when the target is started: set it in [load], no phase can change it");
        return Err(text.error(place, message));
    }
    let table = text.keyed(table, "[[phase]]", keys::PHASE)?;
    let name = table.read("name", Source::name)?;
    let name = name.ok_or_else(|| text.error(table.start(), "this phase has no name: add name = \"...\""))?;
    Ok(Phase { name, set: values(&table, true, references)? })
}

/// The settings of a table. Those of a phase vary between the phases of one start, and its rate may be a share.
fn values(table: &Table, varies: bool, references: &mut References) -> Result<Values, PlanError> {
    let (text, mut values) = (table.text, Values::new());
    for (name, key_place, value) in table.entries.iter().filter(|(name, ..)| NAMES.contains(name)) {
        let value_place = value.span();
        let value = match text.scalar(value, name)?.trim() {
            percentage if varies && name.starts_with("rate") && percentage.ends_with('%') => {
                shared(name, percentage).map_err(|e| text.error(value_place.clone(), format!("{name}: {e}")))?
            }
            _ => text.setting(value, name)?,
        };
        let (name, key_place) = ((*name).to_owned(), key_place.clone());
        values.push((name.clone(), value.clone()));
        references.settings.push(SettingRef { name, value, key_place, value_place, varies });
    }
    Ok(values)
}

pub(super) fn an_override(text: &Source, table: &DeTable, references: &mut References) -> Result<Override, PlanError> {
    let table = text.keyed(table, "[[override]]", keys::OVERRIDE)?;
    let (first, filter) = (references.settings.len(), filter(&table, false, references)?);
    let set = table.read("set", |text, value, key| {
        let form = || text.error(value.span(), "set must be a table such as { duration = \"10s\" }");
        let set = value.get_ref().as_table().ok_or_else(form)?;
        values(&text.keyed(set, key, keys::SETTINGS)?, false, references)
    })?;
    let one = Override { filter, set: set.unwrap_or_default() };
    if one.set.is_empty() {
        return Err(text.error(table.start(), "this override sets nothing: add set = { duration = \"10s\" }"));
    }
    if one.filter.is_empty() {
        let message = "this override has neither when nor except: values for every cell belong in [load]";
        return Err(text.error(table.start(), message));
    }
    // Only then may it differ between the phases of one start.
    let is_about_phases = one.filter.names(PHASE);
    for given in references.settings[first..].iter_mut().filter(|_| is_about_phases) {
        if FIXED.contains(&given.name.as_str()) {
            let message = format!("{} is fixed when the target is started: it cannot depend on the phase", given.name);
            return Err(text.error(given.key_place.clone(), message));
        }
        given.varies = true;
    }
    Ok(one)
}

/// The fraction of the cell's rate that `50%` denotes; `None` for an absolute value.
pub fn share(value: &str) -> Option<f64> {
    percent(value).map(|percent| percent / 100.0)
}

fn percent(value: &str) -> Option<f64> {
    value.strip_suffix('%')?.trim().parse().ok()
}

/// Higher shares are taken for typing errors.
const MOST_PERCENT: f64 = 10_000.0;

fn shared(key: &str, text: &str) -> Result<String, String> {
    match (key, percent(text)) {
        ("rate", Some(percent)) if percent > 0.0 && percent <= MOST_PERCENT => Ok(format!("{percent}%")),
        ("rate", _) => Err(format!("'{text}' is not a share of the cell's rate: above 0% and up to {MOST_PERCENT}%")),
        _ => Err(format!("a share is of the cell's rate, per core or not: write rate = \"{text}\"")),
    }
}

/// Applies these values to settings that still have the cell's rate.
pub fn apply(values: &Values, settings: &mut Settings) {
    for (name, value) in values {
        match share(value).filter(|_| name == "rate") {
            Some(share) => {
                // Rounded to a millionth, so that a share of a round rate is round.
                let part = |rate: f64| (rate * share * 1e6).round() / 1e6;
                settings.rate = settings.rate.map(|rate| match rate {
                    Amount::Total(rate) => Amount::Total(part(rate)),
                    Amount::PerCore(rate) => Amount::PerCore(part(rate)),
                });
            }
            None => {
                settings.set(name, value).expect("the plan holds values that `set` itself has spelt");
            }
        }
    }
}
