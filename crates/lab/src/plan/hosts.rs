//! `[hosts]`: machines of a fleet on which targets run, and those that make the load.

use super::references::References;
use super::source::{Source, Table, Value, entries};
use super::{PlanError, Target, TargetKind};
use brunt_diagnostic::suggest::did_you_mean;
use std::collections::BTreeMap;
use std::ops::Range;

/// The host whose agents make the load of brunt.
pub const LOAD: &str = "load";
/// Keys of a target on another machine: the rest is said there.
const OF_AGENT: [&str; 7] = ["name", "on", "max_server_cores", "single_process", "when", "except", "skip"];

/// Reads `[hosts]`. Values may have placeholders of the load.
pub(super) fn read(document: &Table, references: &mut References) -> Result<BTreeMap<String, String>, PlanError> {
    let hosts = document.read("hosts", |text, value, key| {
        let mut hosts = BTreeMap::new();
        for (name, at, value) in entries(text.table(value, key)?) {
            let agents = value.get_ref().as_str().filter(|agents| !name.is_empty() && !agents.trim().is_empty());
            let form = || format!("the host '{name}' is a text that names agents, such as sut = \"role=server\"");
            let agents = agents.ok_or_else(|| text.error(at, form()))?.to_owned();
            references.check(text, &agents, value.span(), name != LOAD)?;
            hosts.insert(name.to_owned(), agents);
        }
        Ok(hosts)
    })?;
    Ok(hosts.unwrap_or_default())
}

/// Reads `on` of a target: how it is started is said by the owner of its machine, so that it has no other keys about that.
pub(super) fn on(table: &Table, kind: Option<&TargetKind>) -> Result<Option<String>, PlanError> {
    let on = table.read("on", |text: &Source, value: &Value, key| text.string(value, key))?;
    let other = table.entries.iter().find(|(key, ..)| !OF_AGENT.contains(key));
    if let (Some(on), Some((key, place, _))) = (&on, other) {
        let what = if kind.is_some() { "command" } else { "rest" };
        let message = format!(
            "a target on another machine ({on}) is started as its owner says, in the file of targets of its agent: move {key} and the \
             {what} of it there"
        );
        return Err(table.text.error(place.clone(), message));
    }
    Ok(on)
}

/// Checks that a target is on a known host.
pub(super) fn check(
    text: &Source,
    hosts: &BTreeMap<String, String>,
    target: &Target,
    place: Range<usize>,
) -> Result<(), PlanError> {
    let Some(on) = target.on.as_ref().filter(|on| !hosts.contains_key(*on)) else { return Ok(()) };
    let known: Vec<&str> = hosts.keys().map(String::as_str).collect();
    let remedy = match did_you_mean(on, &known) {
        nearest if nearest.is_empty() => ": add it to [hosts], such as sut = \"role=server\"".to_owned(),
        nearest => nearest,
    };
    Err(text.error(place, format!("target '{}' is on the unknown host '{on}'{remedy}", target.name)))
}
