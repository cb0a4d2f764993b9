//! Parses a plan from TOML. Every error points at its place and suggests the nearest valid name; unknown keys are errors.

use super::{
    Axis, Plan, Sweep,
    filter::patterns,
    keys::{self, TAKEN},
    phase::{an_override, phase},
    references::{FilterRef, References},
    source::{Entry, Source, Value, entries, one_or_list},
    target, tester, validate,
};
use crate::{
    plan::{
        PlanError,
        settings::{NAMES, Settings},
        template,
    },
    suggest::did_you_mean,
};
use std::{collections::BTreeMap, ops::Range};
use toml::de::{DeTable, DeValue};

/// Parses and validates a plan; `file` is its name in messages.
pub fn read(file: &str, source: &str) -> Result<Plan, PlanError> {
    let text = Source { file, source };
    let document = DeTable::parse(source).map_err(|e| text.error(e.span().unwrap_or(0..0), e.message()))?;
    let mut plan = Plan {
        name: String::new(),
        description: String::new(),
        seed: 1,
        repeats: 3,
        retries: 1,
        load: Settings::default(),
        sweeps: Vec::new(),
        phases: Vec::new(),
        overrides: Vec::new(),
        best_over: None,
        baseline: None,
        style: None,
        targets: Vec::new(),
        testers: BTreeMap::new(),
    };
    let mut references = References::default();
    let entries = entries(document.get_ref());
    for entry in &entries {
        read_key(&text, entry, &entries, &mut plan, &mut references)?;
    }
    if plan.name.is_empty() {
        return Err(text.error(0..0, "the plan has no name: add name = \"...\" at its top"));
    }
    if plan.sweeps.is_empty() {
        plan.sweeps.push(Sweep::default());
    }
    // These use the axes of all sweeps, wherever they are in the source.
    let own: Vec<String> = plan.custom_axes().map(|axis| axis.name.clone()).collect();
    targets(&text, &entries, &own, &mut plan, &mut references)?;
    tester_words(&text, &entries, &own, &mut plan, &mut references)?;
    validate::whole(&text, &plan, &entries, &references)?;
    Ok(plan)
}

/// Parses one top-level key, except targets and testers.
fn read_key(
    text: &Source,
    (key, place, value): &Entry,
    entries: &[Entry],
    plan: &mut Plan,
    references: &mut References,
) -> Result<(), PlanError> {
    match *key {
        "name" => plan.name = text.name(value, key)?,
        "description" => plan.description = text.string(value, key)?,
        "seed" => plan.seed = text.whole(value, key, 0..=i64::MAX as u64)?,
        "repeats" => plan.repeats = text.whole(value, key, 1..=1000)? as u32,
        "retries" | "again" => {
            if entries.iter().any(|(other, ..)| ["retries", "again"].contains(other) && other != key) {
                let message = "retries and again are two names of one key: keep retries";
                return Err(text.error(place.clone(), message));
            }
            plan.retries = text.whole(value, key, 0..=100)? as u32;
        }
        "best_over" => plan.best_over = Some(text.string(value, key)?),
        "baseline" => plan.baseline = Some(text.string(value, key)?),
        "style" => {
            let name = text.string(value, key)?;
            plan.style = Some(name.parse().map_err(|why| text.error(value.span(), why))?);
        }
        "load" => load(text, &mut plan.load, text.table(value, "[load]")?)?,
        "sweep" => match value.get_ref() {
            DeValue::Array(_) => {
                for (table, _) in text.tables(value, place.clone(), key)? {
                    plan.sweeps.push(sweep(text, table, &mut references.filters)?);
                }
            }
            _ => plan.sweeps.push(sweep(text, text.table(value, "[sweep]")?, &mut references.filters)?),
        },
        "phase" => {
            for (table, place) in text.tables(value, place.clone(), key)? {
                let phase = phase(text, table, &mut references.settings)?;
                if plan.phases.iter().any(|known| known.name == phase.name) {
                    return Err(text.error(place, format!("two phases have the name '{}'", phase.name)));
                }
                plan.phases.push(phase);
            }
        }
        "override" => {
            for (table, _) in text.tables(value, place.clone(), key)? {
                plan.overrides.push(an_override(text, table, &mut references.settings, &mut references.filters)?);
            }
        }
        "target" => drop(text.tables(value, place.clone(), key)?),
        "testers" => drop(text.table(value, "[testers]")?),
        _ => return Err(text.unknown(key, place.clone(), "", keys::PLAN)),
    }
    Ok(())
}

fn targets(
    text: &Source,
    entries: &[Entry],
    own: &[String],
    plan: &mut Plan,
    references: &mut References,
) -> Result<(), PlanError> {
    for (key, place, value) in entries.iter().filter(|(key, ..)| *key == "target") {
        for (table, place) in text.tables(value, place.clone(), key)? {
            let target = target::read(text, table, own, references)?;
            validate::check_protocol(text, &target, plan.load.path.is_some(), place.clone())?;
            if plan.targets.iter().any(|known| known.name == target.name) {
                return Err(text.error(place, format!("two targets have the name '{}'", target.name)));
            }
            plan.targets.push(target);
        }
    }
    match plan.targets.is_empty() {
        true => Err(text.error(0..0, "the plan has no target: add at least one [[target]]")),
        false => Ok(()),
    }
}

/// Parses `[testers]`, and checks the placeholders there and in paths.
fn tester_words(
    text: &Source,
    entries: &[Entry],
    own: &[String],
    plan: &mut Plan,
    references: &mut References,
) -> Result<(), PlanError> {
    let mut check = |word: &str, at: &Range<usize>| {
        target::check(text, word, at, template::OF_SETTINGS, own, false, &mut references.placeholders)
    };
    for (_, _, value) in entries.iter().filter(|(key, ..)| *key == "testers") {
        for (name, place, words) in self::entries(text.table(value, "[testers]")?) {
            let known = tester::names();
            if !known.contains(&name) {
                return Err(text.error(place, format!("'{name}' is not a tester{}", did_you_mean(name, &known))));
            }
            let words = text.strings(words, name)?;
            for (word, at) in &words {
                check(word, &at.span())?;
            }
            plan.testers.insert(name.to_owned(), words.into_iter().map(|(word, _)| word).collect());
        }
    }
    if let Some(path) = &plan.load.path {
        check(path, &validate::load_place(entries, "path"))?;
    }
    for given in references.settings.iter().filter(|given| given.name == "path") {
        check(&given.value, &given.value_place)?;
    }
    Ok(())
}

fn load(text: &Source, load: &mut Settings, table: &DeTable) -> Result<(), PlanError> {
    let mut seen = Vec::new();
    for (key, place, value) in entries(table) {
        if !NAMES.contains(&key) {
            return Err(text.unknown(key, place, "[load]", keys::SETTINGS));
        }
        text.check_exclusive(key, place, &seen)?;
        load.set(key, &text.scalar(value, key)?).map_err(|e| text.error(value.span(), format!("{key}: {e}")))?;
        seen.push(key);
    }
    Ok(())
}

fn sweep(text: &Source, table: &DeTable, mentions: &mut Vec<FilterRef>) -> Result<Sweep, PlanError> {
    let mut sweep = Sweep::default();
    for (key, place, value) in entries(table) {
        match key {
            "when" => sweep.filter.when = patterns(text, key, value, false, mentions)?,
            "except" => sweep.filter.except = patterns(text, key, value, false, mentions)?,
            _ => {
                let seen: Vec<&str> = sweep.axes.iter().map(|axis| axis.name.as_str()).collect();
                text.check_exclusive(key, place.clone(), &seen)?;
                sweep.axes.push(axis(text, key, place, value)?);
            }
        }
    }
    Ok(sweep)
}

fn axis(text: &Source, key: &str, place: Range<usize>, value: &Value) -> Result<Axis, PlanError> {
    axis_name(text, key, place)?;
    if key == "path" {
        let message = "path cannot be an axis: put it in [load] with a placeholder, path = \"/{page}\", and sweep that";
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

/// The name of an axis must be usable as a placeholder and in a directory's name.
fn axis_name(text: &Source, key: &str, place: Range<usize>) -> Result<(), PlanError> {
    let plain = key.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-'));
    if !plain || key.is_empty() || key.len() > 32 {
        let message = format!("'{key}' cannot name an axis: up to 32 letters, digits, - and _");
        return Err(text.error(place, message));
    }
    if template::OWN.contains(&key) || TAKEN.contains(&key) {
        return Err(text.error(place, format!("'{key}' is reserved and cannot name an axis")));
    }
    Ok(())
}
