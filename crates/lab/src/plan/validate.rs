//! Validation of the whole plan: unknown names, unused values, contradictions. Errors point at their place.

use super::phase::share;
use super::references::References;
use super::settings::per_core_counterpart;
use super::source::{Source, Table, entries, one_or_list};
use super::{PHASE, Plan, Sweep, Target, TargetKind};
use crate::group::distinct;
use crate::plan::PlanError;
use crate::plan::settings::{NAMES, OF_HTTP, without_path};
use crate::plan::slicing::Order;
use brunt_diagnostic::suggest::{closest, did_you_mean};
use std::ops::Range;

/// Maximum number of cells; catches errors such as an axis too many.
const MOST_CELLS: usize = 10_000;

pub(super) fn whole(document: &Table, plan: &Plan, references: &References) -> Result<(), PlanError> {
    named(document, plan)?;
    if let (Some(Order::Slices), Some(why)) = (plan.order, plan.unsliceable()) {
        let message = format!("the plan cannot have order = \"slices\": {why}; use order = \"trials\"");
        return Err(document.text.error(document.place("order"), message));
    }
    given(document.text, plan, references)?;
    for name in OF_HTTP {
        of_http(document, plan, references, name)?;
    }
    staged(document, plan)?;
    beside(document, plan)?;
    mentions(document.text, plan, references)?;
    axes(document, plan, references)
}

pub(super) fn check_protocol(text: &Source, target: &Target, http: bool, place: Range<usize>) -> Result<(), PlanError> {
    let speaks = match &target.kind {
        TargetKind::Serve { service, .. } => service == "http",
        TargetKind::Nginx { .. } => true,
        TargetKind::Command(_) | TargetKind::OfAgent => return Ok(()),
    };
    let name = &target.name;
    match (speaks, http) {
        (true, false) => Err(text.error(place, format!("target '{name}' speaks HTTP: add path = \"/\" to [load]"))),
        (false, true) => {
            Err(text.error(place, format!("target '{name}' speaks no HTTP: remove path from [load], or serve http")))
        }
        _ => Ok(()),
    }
}

fn named(document: &Table, plan: &Plan) -> Result<(), PlanError> {
    let names: Vec<&str> = NAMES.iter().copied().chain(plan.custom_axes().map(|axis| axis.name.as_str())).collect();
    let targets: Vec<&str> = plan.targets.iter().map(|target| target.name.as_str()).collect();
    for (key, named, known) in [("best_over", &plan.best_over, names), ("baseline", &plan.baseline, targets)] {
        if let Some(name) = named.as_ref().filter(|name| !known.contains(&name.as_str())) {
            let place = document.entry(key).map_or(0..0, |(_, _, value)| value.span());
            return Err(document
                .text
                .error(place, format!("{key} names the unknown '{name}'{}", did_you_mean(name, &known))));
        }
    }
    Ok(())
}

/// Stages in `[load]` set what no sweep may vary then.
fn staged(document: &Table, plan: &Plan) -> Result<(), PlanError> {
    let set = ["duration", "rate", "rate_per_core"];
    let swept = plan.sweeps.iter().flat_map(|sweep| &sweep.axes).find(|axis| set.contains(&&axis.name[..]));
    let Some(axis) = swept.filter(|_| !plan.load.stages.is_empty()) else { return Ok(()) };
    let message = format!("[sweep] varies {}, which stages in [load] set: remove one of them", axis.name);
    Err(document.text.error(axis_place(document, &axis.name), message))
}

/// Some settings are those of HTTP requests.
fn of_http(document: &Table, plan: &Plan, references: &References, name: &str) -> Result<(), PlanError> {
    let in_sweep = plan.sweeps.iter().flat_map(|sweep| &sweep.axes).find(|axis| axis.name == name);
    let place = match references.settings.iter().find(|given| given.name == name) {
        _ if plan.load.path.is_some() => return Ok(()),
        Some(given) => given.key_place.clone(),
        None if in_sweep.is_some() => axis_place(document, name),
        None if plan.load.get(name).is_some() => load_place(document, name),
        None => return Ok(()),
    };
    Err(document.text.error(place, without_path(name)))
}

/// Every policy must have a co-runner, every co-runner a policy, and both must be known.
fn beside(document: &Table, plan: &Plan) -> Result<(), PlanError> {
    let options = |name: &str| match values(plan, name) {
        values if values.is_empty() => vec![None],
        values => values.into_iter().map(Some).collect(),
    };
    for (policy, co_runner) in options("policy")
        .iter()
        .flat_map(|policy| options("co_runner").into_iter().map(move |co_runner| (policy, co_runner)))
    {
        if let Err(why) = plan.beside(policy.as_deref(), co_runner.as_deref()) {
            let names = ["co_runner", "policy"];
            let places = names.iter().flat_map(|name| [axis_place(document, name), load_place(document, name)]);
            let place = places.into_iter().find(|place| !place.is_empty()).unwrap_or(0..0);
            return Err(document.text.error(place, why));
        }
    }
    Ok(())
}

/// Phases and overrides must not contradict sweeps, nor change values that a target is started with.
fn given(text: &Source, plan: &Plan, references: &References) -> Result<(), PlanError> {
    for given in &references.settings {
        let (name, at) = (&given.name, || given.key_place.clone());
        let is_swept = |name: &str| plan.sweeps.iter().flat_map(|sweep| &sweep.axes).any(|axis| axis.name == name);
        if share(&given.value).is_some() && name == "rate" {
            if let Some(message) = unshared(plan, &given.value) {
                return Err(text.error(given.value_place.clone(), message));
            }
        } else if let Some(swept) =
            [name.as_str(), per_core_counterpart(name).as_str()].into_iter().find(|name| is_swept(name))
        {
            let message =
                format!("{name} cannot be set here: [sweep] varies {swept}, which is part of the cell's name");
            return Err(text.error(at(), message));
        }
        if name == "path" && plan.load.path.is_none() {
            return Err(text.error(at(), "path can only replace another path: add path = \"/\" to [load]"));
        }
        if name == "tls" && given.varies {
            let message = "phases cannot differ in tls: the target is started once for all of them";
            return Err(text.error(at(), message));
        }
        let total = name.strip_suffix("_per_core").unwrap_or(name);
        let used = references.placeholders.iter().find(|used| used.at_start && used.name == total);
        if let Some(used) = used.filter(|_| given.varies) {
            let message = format!(
                "{{{total}}} has no single value here: the phases differ in {name}, and the target is started once for all of them; write the value itself"
            );
            return Err(text.error(used.place.clone(), message));
        }
    }
    Ok(())
}

/// Why some cells have no rate to take a share of, if so.
fn unshared(plan: &Plan, share: &str) -> Option<String> {
    for sweep in &plan.sweeps {
        let axis = sweep.axes.iter().find(|axis| ["rate", "rate_per_core"].contains(&axis.name.as_str()));
        match axis {
            Some(axis) if axis.values.iter().any(|value| value == "max") => {
                let name = &axis.name;
                return Some(format!(
                    "{share} is a share of the cell's rate, and cells with {name}=max have none: leave max out of {name}"
                ));
            }
            None if plan.load.rate.is_none() => {
                let what = "is a share of the cell's rate, and cells have none";
                return Some(format!("{share} {what}: add rate to [load] or to every [[sweep]]"));
            }
            _ => {}
        }
    }
    None
}

/// Filters must contain names and values that some cell has.
fn mentions(text: &Source, plan: &Plan, references: &References) -> Result<(), PlanError> {
    for mention in &references.filters {
        let name = mention.name.as_str();
        let Some(value) = &mention.value else {
            let special = [("target", !mention.of_target), (PHASE, !plan.phases.is_empty())];
            let special = special.into_iter().filter(|(_, is_known)| *is_known).map(|(name, _)| name);
            let own = plan.custom_axes().map(|axis| axis.name.as_str());
            let mut known: Vec<&str> = special.chain(NAMES.iter().copied()).chain(own).collect();
            known.dedup();
            if !known.contains(&name) {
                let message = format!("'{name}' is not a value of cells{}", did_you_mean(name, &known));
                return Err(text.error(mention.place.clone(), message));
            }
            continue;
        };
        let known = values(plan, name);
        if !known.contains(value) {
            let known: Vec<&str> = known.iter().map(String::as_str).collect();
            let message = match known.as_slice() {
                [] => format!("no cell has a {name}: sweep it, or add it to [load]"),
                // Similar numbers are not typing errors.
                _ if ["target", PHASE].contains(&name) => {
                    format!("no cell has {name}={value}{}", did_you_mean(value, &known))
                }
                _ => format!("no cell has {name}={value}; known are {}", known.join(", ")),
            };
            return Err(text.error(mention.place.clone(), message));
        }
    }
    Ok(())
}

/// The values of this name over all cells, before overrides.
fn values(plan: &Plan, name: &str) -> Vec<String> {
    let values: Vec<String> = match name {
        "target" => plan.targets.iter().map(|target| target.name.clone()).collect(),
        PHASE => plan.phases.iter().map(|phase| phase.name.clone()).collect(),
        _ => {
            let axes = plan.sweeps.iter().flat_map(|sweep| &sweep.axes).filter(|axis| axis.name == name);
            let phases = plan.phases.iter().flat_map(|phase| &phase.set);
            // Filters see the rate that the share refers to.
            let phases = phases.filter(|(set, value)| set == name && (name != "rate" || share(value).is_none()));
            let load = plan.load.get(name).into_iter();
            axes.flat_map(|axis| axis.values.clone())
                .chain(phases.map(|(_, value)| value.clone()))
                .chain(load)
                .collect()
        }
    };
    distinct(values)
}

/// Checks for connections that are not set, axes that are unused or not in every sweep, and too many cells.
fn axes(document: &Table, plan: &Plan, references: &References) -> Result<(), PlanError> {
    let text = document.text;
    let starts = plan.targets.len().saturating_mul(plan.phases.len().max(1));
    let product = |sweep: &Sweep| sweep.axes.iter().fold(starts, |n, axis| n.saturating_mul(axis.values.len()));
    let cells = plan.sweeps.iter().map(product).fold(0, usize::saturating_add);
    if cells > MOST_CELLS {
        let message = format!("the plan has {cells} cells, more than {MOST_CELLS}: sweep fewer values, or split it");
        return Err(text.error(document.place("sweep"), message));
    }
    let sets_connections = |name: &str| matches!(name, "connections" | "connections_per_core");
    let in_phases = !plan.phases.is_empty()
        && plan.phases.iter().all(|phase| phase.set.iter().any(|(name, _)| sets_connections(name)));
    let own: Vec<&str> = plan.custom_axes().map(|axis| axis.name.as_str()).collect();
    for sweep in &plan.sweeps {
        let has = |name: &str| sweep.axes.iter().any(|axis| axis.name == name);
        let in_sweep = sweep.axes.iter().any(|axis| sets_connections(&axis.name));
        if plan.load.connections.is_none() && !in_sweep && !in_phases {
            let message =
                "the number of connections is not set: add connections or connections_per_core to [load] or [sweep]";
            return Err(text.error(document.place("load"), message));
        }
        for used in references.placeholders.iter().filter(|used| own.contains(&used.name.as_str())) {
            if !has(&used.name) {
                let message = format!("{{{}}} is not an axis of every [[sweep]]", used.name);
                return Err(text.error(used.place.clone(), message));
            }
        }
        for axis in sweep.axes.iter().filter(|axis| own.contains(&axis.name.as_str())) {
            if !references.placeholders.iter().any(|used| used.name == axis.name) {
                let (name, at) = (&axis.name, axis_place(document, &axis.name));
                let slip = closest(name, NAMES.iter().copied());
                let remedy = slip.map_or(String::new(), |near| format!("; did you mean '{near}'?"));
                let message = format!("no target uses {{{name}}}, so the axis '{name}' would change nothing{remedy}");
                return Err(text.error(at, message));
            }
        }
    }
    Ok(())
}

/// The place of this name in `[load]`.
pub(super) fn load_place(document: &Table, name: &str) -> Range<usize> {
    let load = document.entry("load").and_then(|(_, _, value)| value.get_ref().as_table());
    let entry = load.into_iter().flat_map(|table| entries(table)).find(|(key, ..)| *key == name);
    entry.map_or(0..0, |(_, _, value)| value.span())
}

fn axis_place(document: &Table, name: &str) -> Range<usize> {
    let sweeps = document.entry("sweep").into_iter().flat_map(|(_, _, value)| one_or_list(value));
    sweeps
        .filter_map(|sweep| sweep.get_ref().as_table())
        .flat_map(|table| entries(table))
        .find(|(key, ..)| *key == name)
        .map_or(0..0, |(_, place, _)| place)
}
