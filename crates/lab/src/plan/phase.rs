//! Values that differ between cells without being swept: those of phases and of overrides.

use super::{
    Filter, PHASE,
    filter::patterns,
    keys,
    references::{FilterRef, SettingRef},
    source::{Source, entries},
};
use crate::plan::{
    PlanError,
    settings::{Amount, NAMES, Settings},
};
use serde::{Deserialize, Serialize};
use toml::de::DeTable;

/// Settings that no phase can change: cores are assigned when the target is started.
const FIXED: &[&str] = &["server_cores", "client_cores"];

/// Names and values of settings in normal form, in the order of the plan. The rate of a phase may be a [`share`].
pub type Values = Vec<(String, String)>;

/// One of several consecutive loads on one start of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    pub name: String,
    /// Replaces values of the plan's load.
    pub set: Values,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
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

impl Override {
    /// Whether it may differ between the phases of one start.
    pub fn is_about_phases(&self) -> bool {
        self.filter.names(PHASE)
    }
}

pub(super) fn phase(text: &Source, table: &DeTable, given: &mut Vec<SettingRef>) -> Result<Phase, PlanError> {
    let mut phase = Phase { name: String::new(), set: Values::new() };
    let mut here = None;
    for (key, place, value) in entries(table) {
        here.get_or_insert(place.clone());
        match key {
            "name" => phase.name = text.name(value, "name")?,
            _ if FIXED.contains(&key) => {
                let message =
                    format!("{key} is fixed when the target is started: set it in [load], no phase can change it");
                return Err(text.error(place, message));
            }
            _ if NAMES.contains(&key) => {
                let seen: Vec<&str> = phase.set.iter().map(|(name, _)| name.as_str()).collect();
                text.check_exclusive(key, place.clone(), &seen)?;
                let value_place = value.span();
                let value = match text.scalar(value, key)?.trim() {
                    percentage if key.starts_with("rate") && percentage.ends_with('%') => {
                        shared(key, percentage).map_err(|e| text.error(value_place.clone(), format!("{key}: {e}")))?
                    }
                    _ => text.setting(value, key)?,
                };
                phase.set.push((key.to_owned(), value.clone()));
                given.push(SettingRef { name: key.to_owned(), value, key_place: place, value_place, varies: true });
            }
            _ => return Err(text.unknown(key, place, "[[phase]]", keys::PHASE)),
        }
    }
    if phase.name.is_empty() {
        return Err(text.error(here.unwrap_or(0..0), "this phase has no name: add name = \"...\""));
    }
    Ok(phase)
}

pub(super) fn an_override(
    text: &Source,
    table: &DeTable,
    given: &mut Vec<SettingRef>,
    mentions: &mut Vec<FilterRef>,
) -> Result<Override, PlanError> {
    let mut one = Override { filter: Filter::default(), set: Values::new() };
    let (mut here, first) = (0..0, given.len());
    for (key, place, value) in entries(table) {
        if here.end == 0 {
            here = place.clone();
        }
        match key {
            "when" => one.filter.when = patterns(text, key, value, false, mentions)?,
            "except" => one.filter.except = patterns(text, key, value, false, mentions)?,
            "set" => {
                let form = || "set must be a table such as { duration = \"10s\" }";
                let table = value.get_ref().as_table().ok_or_else(|| text.error(value.span(), form()))?;
                for (name, place, value) in entries(table) {
                    if !NAMES.contains(&name) {
                        return Err(text.unknown(name, place, "set", keys::SETTINGS));
                    }
                    let seen: Vec<&str> = one.set.iter().map(|(name, _)| name.as_str()).collect();
                    text.check_exclusive(name, place.clone(), &seen)?;
                    let value_place = value.span();
                    let value = text.setting(value, name)?;
                    one.set.push((name.to_owned(), value.clone()));
                    given.push(SettingRef {
                        name: name.to_owned(),
                        value,
                        key_place: place,
                        value_place,
                        varies: false,
                    });
                }
            }
            _ => return Err(text.unknown(key, place, "[[override]]", keys::OVERRIDE)),
        }
    }
    if one.set.is_empty() {
        return Err(text.error(here, "this override sets nothing: add set = { duration = \"10s\" }"));
    }
    if one.filter.is_empty() {
        return Err(
            text.error(here, "this override has neither when nor except: values for every cell belong in [load]")
        );
    }
    for given in given[first..].iter_mut().filter(|_| one.is_about_phases()) {
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
