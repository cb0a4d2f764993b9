//! Values that are not the same for all cells and yet not swept: those of a phase, and those of an override.

use super::{
    Filter,
    filter::{Mention, patterns},
    keys,
    text::{Text, entries},
};
use crate::{
    fault::Fault,
    settings::{NAMES, Settings},
};
use serde::{Deserialize, Serialize};
use std::ops::Range;
use toml::de::DeTable;

/// The name under which a cell knows its phase.
pub const PHASE: &str = "phase";

/// What a phase cannot change: where the two sides run is settled when the target is started.
const FIXED: &[&str] = &["server_cores", "client_cores"];

/// Names of settings and their values in their usual spelling, in the order of the plan.
pub type Values = Vec<(String, String)>;

/// One of several loads that follow each other on one start of a target.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Phase {
    /// Names it in reports and on the command line.
    pub name: String,
    /// In the place of the plan's own load.
    pub set: Values,
}

/// Values for some of the cells.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Override {
    /// Which.
    pub filter: Filter,
    /// In the place of those of load and phase.
    pub set: Values,
}

impl Override {
    /// Whether it may tell the phases of one start apart.
    pub fn is_about_phases(&self) -> bool {
        self.filter.names(PHASE)
    }
}

/// A value that a phase or an override sets, and where.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) name: String,
    pub(super) value: String,
    pub(super) key_place: Range<usize>,
    pub(super) value_place: Range<usize>,
    /// Whether phases of one start may differ in it.
    pub(super) varies: bool,
}

/// Reads a `[[phase]]`.
pub(super) fn phase(text: &Text, table: &DeTable, given: &mut Vec<Given>) -> Result<Phase, Fault> {
    let mut phase = Phase { name: String::new(), set: Values::new() };
    let mut here = None;
    for (key, place, value) in entries(table) {
        here.get_or_insert(place.clone());
        match key {
            "name" => phase.name = text.name(value, "name")?,
            _ if FIXED.contains(&key) => {
                let message =
                    format!("{key} is settled when the target is started: set it in [load], no phase can change it");
                return Err(text.fault(place, message));
            }
            _ if NAMES.contains(&key) => {
                let seen: Vec<&str> = phase.set.iter().map(|(name, _)| name.as_str()).collect();
                text.no_rival(key, place.clone(), &seen)?;
                let value_place = value.span();
                let value = text.setting(value, key)?;
                phase.set.push((key.to_owned(), value.clone()));
                given.push(Given { name: key.to_owned(), value, key_place: place, value_place, varies: true });
            }
            _ => return Err(text.unknown(key, place, "[[phase]]", keys::PHASE)),
        }
    }
    if phase.name.is_empty() {
        return Err(text.fault(here.unwrap_or(0..0), "this phase has no name: add name = \"...\""));
    }
    Ok(phase)
}

/// Reads an `[[override]]`.
pub(super) fn an_override(
    text: &Text,
    table: &DeTable,
    given: &mut Vec<Given>,
    mentions: &mut Vec<Mention>,
) -> Result<Override, Fault> {
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
                let table = value.get_ref().as_table().ok_or_else(|| text.fault(value.span(), form()))?;
                for (name, place, value) in entries(table) {
                    if !NAMES.contains(&name) {
                        return Err(text.unknown(name, place, "set", keys::SETTINGS));
                    }
                    let seen: Vec<&str> = one.set.iter().map(|(name, _)| name.as_str()).collect();
                    text.no_rival(name, place.clone(), &seen)?;
                    let value_place = value.span();
                    let value = text.setting(value, name)?;
                    one.set.push((name.to_owned(), value.clone()));
                    given.push(Given { name: name.to_owned(), value, key_place: place, value_place, varies: false });
                }
            }
            _ => return Err(text.unknown(key, place, "[[override]]", keys::OVERRIDE)),
        }
    }
    if one.set.is_empty() {
        return Err(text.fault(here, "this override sets nothing: add set = { duration = \"10s\" }"));
    }
    if one.filter.is_empty() {
        return Err(text
            .fault(here, "this override has neither when nor except: what holds for every cell belongs into [load]"));
    }
    for given in given[first..].iter_mut().filter(|_| one.is_about_phases()) {
        if FIXED.contains(&given.name.as_str()) {
            let message =
                format!("{} is settled when the target is started: it cannot depend on the phase", given.name);
            return Err(text.fault(given.key_place.clone(), message));
        }
        given.varies = true;
    }
    Ok(one)
}

/// Puts these values into the settings.
pub fn apply(values: &Values, settings: &mut Settings) {
    for (name, value) in values {
        settings.set(name, value).expect("the plan holds values that `set` itself has spelt");
    }
}
