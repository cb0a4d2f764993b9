//! Parses a plan from TOML. Every error points at its place and suggests the nearest valid name; unknown keys are errors.

use super::filter::filter;
use super::keys::TAKEN;
use super::phase::{an_override, phase};
use super::references::References;
use super::source::{Source, Table, Value, entries, one_or_list};
use super::{Axis, Plan, Style, Sweep, colocation, hosts, keys, slicing, target, tester, validate};
use crate::plan::settings::{NO_AXES, Settings};
use crate::plan::{PlanError, template};
use brunt_diagnostic::{Text, suggest::did_you_mean};
use brunt_results::Threshold;
use std::{collections::BTreeMap, ops::Range};
use toml::de::{DeTable, DeValue};

/// Parses and validates a plan; `file` is its name in messages.
pub fn read(file: &str, source: &str) -> Result<Plan, PlanError> {
    let text = Source(Text { file, source });
    let document = text.document()?;
    let document = text.keyed(document.get_ref(), "", keys::PLAN)?;
    let mut references = References::default();
    let name = document.read("name", Source::name)?;
    let (order, slicing) = slicing::read(&document)?;
    let mut plan = Plan {
        name: name.ok_or_else(|| text.error(0..0, "the plan has no name: add name = \"...\" at its top"))?,
        description: document.read("description", Source::string)?.unwrap_or_default(),
        seed: document.whole("seed", 0..=i64::MAX as u64)?.unwrap_or(1),
        repeats: document.whole("repeats", 1..=1000)?.unwrap_or(3),
        order,
        slicing,
        load: document.read("load", load)?.unwrap_or_default(),
        sweeps: sweeps(&document, &mut references)?,
        phases: Vec::new(),
        overrides: Vec::new(),
        best_over: document.read("best_over", Source::string)?,
        baseline: document.read("baseline", Source::string)?,
        fail_if: document.read("fail_if", bounds)?.unwrap_or_default(),
        style: document.read("style", style)?,
        hosts: BTreeMap::new(),
        targets: Vec::new(),
        colocation: document.read("colocation", colocation::colocation)?,
        co_runners: Vec::new(),
        testers: BTreeMap::new(),
    };
    for (table, place) in document.tables("phase")? {
        let phase = phase(&text, table, &mut references)?;
        if plan.phases.iter().any(|known| known.name == phase.name) {
            return Err(text.error(place, format!("two phases have the name '{}'", phase.name)));
        }
        plan.phases.push(phase);
    }
    for (table, _) in document.tables("override")? {
        plan.overrides.push(an_override(&text, table, &mut references)?);
    }
    // These use the axes of all sweeps, wherever they are in the source.
    references.own = plan.custom_axes().map(|axis| axis.name.clone()).collect();
    plan.hosts = hosts::read(&document, &mut references)?;
    targets(&document, &mut plan, &mut references)?;
    colocation::co_runners(&document, &mut plan, &mut references)?;
    tester_words(&document, &mut plan, &mut references)?;
    validate::whole(&document, &plan, &references)?;
    Ok(plan)
}

fn style(text: &Source, value: &Value, key: &str) -> Result<Style, PlanError> {
    text.string(value, key)?.parse().map_err(|why: String| text.error(value.span(), why))
}

fn bounds(text: &Source, value: &Value, key: &str) -> Result<Vec<String>, PlanError> {
    let mut all = Vec::new();
    for (words, place) in text.strings(value, key)? {
        for bound in brunt_results::bounds(&words) {
            bound.parse::<Threshold>().map_err(|why| text.error(place.span(), format!("{key}: {why}")))?;
            all.push(bound.to_owned());
        }
    }
    Ok(all)
}

fn targets(document: &Table, plan: &mut Plan, references: &mut References) -> Result<(), PlanError> {
    let text = document.text;
    for (table, place) in document.tables("target")? {
        let target = target::read(text, table, references)?;
        hosts::check(text, &plan.hosts, &target, place.clone())?;
        validate::check_protocol(text, &target, plan.load.path.is_some(), place.clone())?;
        if plan.targets.iter().any(|known| known.name == target.name) {
            return Err(text.error(place, format!("two targets have the name '{}'", target.name)));
        }
        plan.targets.push(target);
    }
    match plan.targets.is_empty() {
        true => Err(text.error(0..0, "the plan has no target: add at least one [[target]]")),
        false => Ok(()),
    }
}

/// Parses `[testers]`, and checks the placeholders there and in paths.
fn tester_words(document: &Table, plan: &mut Plan, references: &mut References) -> Result<(), PlanError> {
    let text = document.text;
    let testers = document.read("testers", |text, value, _| Ok(entries(text.table(value, "[testers]")?)))?;
    for (name, place, words) in testers.into_iter().flatten() {
        let known = tester::names();
        if !known.contains(&name) {
            return Err(text.error(place, format!("'{name}' is not a tester{}", did_you_mean(name, &known))));
        }
        for (word, at) in &text.strings(words, name)? {
            references.check(text, word, at.span(), false)?;
        }
        plan.testers.insert(name.to_owned(), text.words(words, name)?);
    }
    if let Some(path) = &plan.load.path {
        references.check(text, path, validate::load_place(document, "path"), false)?;
    }
    let given = references.settings.iter().filter(|given| given.name == "path");
    for (path, place) in given.map(|given| (given.value.clone(), given.value_place.clone())).collect::<Vec<_>>() {
        references.check(text, &path, place, false)?;
    }
    Ok(())
}

fn load(text: &Source, value: &Value, _: &str) -> Result<Settings, PlanError> {
    let mut load = Settings::default();
    for (key, _, value) in text.keyed(text.table(value, "[load]")?, "[load]", keys::SETTINGS)?.entries {
        text.set(&mut load, value, key)?;
    }
    Ok(load)
}

/// `[sweep]`, `[[sweep]]`s, or one without axes.
fn sweeps(document: &Table, references: &mut References) -> Result<Vec<Sweep>, PlanError> {
    let text = document.text;
    let tables: Vec<&DeTable> = match document.entry("sweep") {
        Some((_, _, value)) if !matches!(value.get_ref(), DeValue::Array(_)) => vec![text.table(value, "[sweep]")?],
        _ => document.tables("sweep")?.into_iter().map(|(table, _)| table).collect(),
    };
    if tables.is_empty() {
        return Ok(vec![Sweep::default()]);
    }
    let mut sweep = |table| {
        let table = text.exclusive(entries(table))?;
        let filter = filter(&table, false, references)?;
        let axes = table.entries.into_iter().filter(|(key, ..)| !["when", "except"].contains(key));
        let axes = axes.map(|(key, place, value)| axis(text, key, place, value));
        Ok(Sweep { axes: axes.collect::<Result<_, _>>()?, filter })
    };
    tables.into_iter().map(&mut sweep).collect()
}

fn axis(text: &Source, key: &str, place: Range<usize>, value: &Value) -> Result<Axis, PlanError> {
    // It must be usable as a placeholder and in a directory's name.
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if !plain || key.is_empty() || key.len() > 32 {
        let message = format!("'{key}' cannot name an axis: up to 32 letters, digits, - and _");
        return Err(text.error(place, message));
    }
    if template::OWN.contains(&key) || TAKEN.contains(&key) {
        return Err(text.error(place, format!("'{key}' is reserved and cannot name an axis")));
    }
    if key == "path" {
        let message = "path cannot be an axis: put it in [load] with a placeholder, path = \"/{page}\", and sweep that";
        return Err(text.error(value.span(), message));
    }
    if NO_AXES.contains(&key) {
        let message = format!("{key} cannot be an axis: put it in [load], a [[phase]] or an [[override]]");
        return Err(text.error(value.span(), message));
    }
    let mut values = Vec::new();
    for value in one_or_list(value) {
        let usual = text.setting(value, key)?;
        if values.contains(&usual) {
            return Err(text.error(value.span(), format!("{key}: {usual} is listed twice")));
        }
        values.push(usual);
    }
    if values.is_empty() {
        return Err(text.error(value.span(), format!("{key} has no values: list at least one, or remove it")));
    }
    Ok(Axis { name: key.to_owned(), values })
}
