//! How the targets of a plan take turns, and how sure their comparison has to be.

use super::phase::Override;
use super::source::{Source, Table, Value};
use super::{Plan, PlanError};
use crate::plan::settings::Amount;
use brunt_results::{Span, Threshold};
use serde::{Deserialize, Serialize};
use std::time::Duration;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// All targets of a load are up at once and get slices of it in random order.
    Slices,
    /// One target after the other, each started anew for every trial.
    Trials,
}

/// Settings of a sliced experiment.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Slicing {
    /// Length of a slice; longer where it would have fewer than 1,000 replies.
    pub slice: Span,
    /// Differences below this share do not matter.
    pub margin: f64,
    /// Half width of the intervals at which a load is done, as a share; `None` is half the margin.
    pub precision: Option<f64>,
    /// Longest time for the slices of one load.
    pub budget: Span,
}

impl Default for Slicing {
    fn default() -> Self {
        let (slice, budget) = (Span(Duration::from_millis(100)), Span(Duration::from_secs(60)));
        Self { slice, margin: 0.03, precision: None, budget }
    }
}

impl Slicing {
    pub fn precision(&self) -> f64 {
        self.precision.unwrap_or(self.margin / 2.0)
    }
}

/// Most connections of a target in a sliced load: the generator holds those of all targets in one process.
const MOST_CONNECTIONS: u64 = 2000;

impl Plan {
    /// Whether the targets take turns by slices: as the plan says, else wherever there is something to compare.
    pub fn is_sliced(&self) -> bool {
        self.order.map_or_else(|| self.unsliceable().is_none(), |order| order == Order::Slices)
    }

    /// Why the plan cannot run by slices, if so.
    pub fn unsliceable(&self) -> Option<String> {
        let axes = || self.sweeps.iter().flat_map(|sweep| &sweep.axes);
        let swept =
            |name: &str| axes().filter(|axis| axis.name == name).flat_map(|axis| &axis.values).cloned().collect();
        let most = [("connections", self.load.get("connections")), ("connections_per_core", None)];
        let most = most.into_iter().flat_map(|(name, set)| set.into_iter().chain::<Vec<String>>(swept(name)));
        let most = most.filter_map(|count| count.parse::<brunt_results::Count>().ok()).map(|count| count.0).max();
        let per_core = matches!(self.load.connections, Some(Amount::PerCore(count)) if count > MOST_CONNECTIONS);
        if self.targets.len() < 2 {
            return Some("it has one target, and slices compare several".to_owned());
        }
        if self.hosts.contains_key(super::hosts::LOAD) {
            return Some("agents of a fleet make its load, and they make whole loads".to_owned());
        }
        if !self.phases.is_empty() {
            return Some("it has phases, which follow each other on one start of a target".to_owned());
        }
        if !self.co_runners.is_empty() {
            return Some("it has co-runners, and their controllers need seconds".to_owned());
        }
        if self.load.requests.is_some() || axes().any(|axis| axis.name == "requests") {
            return Some("a load ends after a number of requests, and slices after a time".to_owned());
        }
        let swept_or_set = |name: &str| {
            let set = self.overrides.iter().any(|overridden| overridden.set.iter().any(|(set, _)| set == name));
            set || axes().any(|axis| axis.name == name)
        };
        if !self.load.stages.is_empty() || swept_or_set("stages") {
            return Some("its load changes in stages, and that of slices does not".to_owned());
        }
        let is_named = |bound: &String| bound.parse::<Threshold>().is_ok_and(|bound| bound.name.is_some());
        if !self.load.names.is_empty() || self.fail_if.iter().any(is_named) {
            return Some("parts of its load have names, and slices have figures of the whole".to_owned());
        }
        if self.load.replay.is_some() || swept_or_set("replay") {
            return Some("a log is replayed at its own times, and a slice is a moment".to_owned());
        }
        let sets_steady =
            |overridden: &Override| overridden.set.iter().any(|(name, value)| name == "steady" && value == "true");
        if self.load.steady == Some(true)
            || axes().any(|axis| axis.name == "steady")
            || self.overrides.iter().any(sets_steady)
        {
            return Some("its warm-up ends by rule, and that of slices after a time".to_owned());
        }
        if per_core || most.is_some_and(|most| most > MOST_CONNECTIONS) {
            return Some(format!("a load has more than {MOST_CONNECTIONS} connections"));
        }
        None
    }
}

/// Reads `order`, `slice`, `margin`, `precision` and `budget`.
pub(super) fn read(document: &Table) -> Result<(Option<Order>, Slicing), PlanError> {
    let default = Slicing::default();
    let order = document.read("order", |text, value, _| match text.string(value, "order")?.as_str() {
        "slices" => Ok(Order::Slices),
        "trials" => Ok(Order::Trials),
        other => Err(text.error(value.span(), format!("order '{other}' is neither slices nor trials"))),
    })?;
    let slicing = Slicing {
        slice: document.read("slice", span(10, 10_000))?.unwrap_or(default.slice),
        margin: document.read("margin", share)?.unwrap_or(default.margin),
        precision: document.read("precision", share)?,
        budget: document.read("budget", span(100, 86_400_000))?.unwrap_or(default.budget),
    };
    Ok((order, slicing))
}

fn span(least_ms: u64, most_ms: u64) -> impl Fn(&Source, &Value, &str) -> Result<Span, PlanError> {
    move |text, value, key| {
        let span: Span = text.parsed(value, key)?;
        let [least, most] = [least_ms, most_ms].map(|ms| Span(Duration::from_millis(ms)));
        match least <= span && span <= most {
            true => Ok(span),
            false => Err(text.error(value.span(), format!("{key} {span} must be from {least} to {most}"))),
        }
    }
}

fn share(text: &Source, value: &Value, key: &str) -> Result<f64, PlanError> {
    let given = text.scalar(value, key)?;
    let percent = given.strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
    let share = percent.filter(|percent| (0.1..=50.0).contains(percent)).map(|percent| percent / 100.0);
    share.ok_or_else(|| text.error(value.span(), format!("{key} '{given}' must be from 0.1% to 50%, such as \"3%\"")))
}

#[cfg(test)]
mod tests {
    use crate::plan::{Plan, read};

    fn plan(head: &str, targets: usize) -> Result<Plan, String> {
        let targets: String =
            (0..targets).map(|n| format!("[[target]]\nname = 't{n}'\ncommand = ['s', '{{port}}']\n")).collect();
        read("p", &format!("name = 'p'\n{head}\n{targets}")).map_err(|error| error.to_string())
    }

    #[test]
    fn plans_with_several_targets_are_sliced_unless_they_cannot_be() {
        let load = "[load]\nconnections = 8";
        for (head, targets, sliced) in [
            (load.to_owned(), 2, true),
            (load.to_owned(), 1, false),
            (format!("order = 'trials'\n{load}"), 2, false),
            (format!("{load}\npath = '/'\ntester = 'wrk'"), 2, true),
            (format!("{load}\npath = '/'\n[sweep]\ntester = ['brunt', 'wrk']"), 2, true),
            (format!("{load}\n[[phase]]\nname = 'a'"), 2, false),
            (format!("{load}\nwarmup = '10s'\nsteady = true"), 2, false),
            (format!("{load}\nsteady = false"), 2, true),
            ("[load]\nconnections = '10k'".to_owned(), 2, false),
            ("[sweep]\nconnections = [1, '10k']".to_owned(), 2, false),
        ] {
            assert_eq!(plan(&head, targets).unwrap().is_sliced(), sliced, "{head}, {targets} targets");
        }
        let error = plan(&format!("order = 'slices'\n{load}"), 1).unwrap_err();
        assert!(error.contains("order = \"slices\": it has one target"), "{error}");
    }

    #[test]
    fn the_settings_of_slices_are_read_and_bounded() {
        let load = "[load]\nconnections = 8";
        let read = plan(&format!("slice = '250ms'\nmargin = '2%'\nbudget = '25s'\n{load}"), 2).unwrap().slicing;
        assert_eq!((read.slice.to_string(), read.budget.to_string()), ("250ms".to_owned(), "25s".to_owned()));
        assert_eq!((read.margin, read.precision()), (0.02, 0.01));
        assert_eq!(plan(&format!("precision = '4%'\n{load}"), 2).unwrap().slicing.precision(), 0.04);
        for (key, value) in [
            ("slice", "1ms"),
            ("slice", "1m"),
            ("margin", "3"),
            ("margin", "0%"),
            ("precision", "99%"),
            ("budget", "1ms"),
        ] {
            let error = plan(&format!("{key} = '{value}'\n{load}"), 2).unwrap_err();
            assert!(error.contains(key) && error.contains(value), "{error}");
        }
    }
}
