//! From a plan and a machine to the cells: every combination of every sweep, on every target, and what cannot be run
//! here with the reason. Pure.

use super::cpu_assignment::{Machine, Placement, SkipReason, assign_cores};
use crate::plan::{
    PHASE, Plan, Sweep, Target,
    phase::{Phase, apply},
    settings::{Amount, Settings},
    template::expand,
};
use brunt_results::{Count, Rate};
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

/// One combination of swept values on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// `target=uring,connections=80`: its name, its directory, and what selects it with `--only`.
    pub id: String,
    /// The target's name.
    pub target: String,
    /// The swept values alone, as in `id`; equal for all targets under the same load.
    pub combination: String,
    /// The load.
    pub settings: Settings,
    /// The cores.
    pub placement: Placement,
}

impl Cell {
    /// The phase it is, if a start of its target has several.
    pub fn phase(&self) -> Option<&str> {
        self.settings.custom_axes.get(PHASE).map(String::as_str)
    }

    /// The swept values alone, without the phase.
    pub fn swept(&self) -> &str {
        let Some(phase) = self.phase() else { return &self.combination };
        let swept = self.combination.strip_suffix(phase).and_then(|rest| rest.strip_suffix("phase="));
        swept.map_or(&self.combination, |swept| swept.trim_end_matches(','))
    }

    /// Whether one start of the target serves both cells, as phases that follow each other.
    pub fn shares_start(&self, other: &Self) -> bool {
        self.phase().is_some() && self.target == other.target && self.swept() == other.swept()
    }

    /// Connections over all cores of the generator.
    pub fn connections(&self) -> u64 {
        match self.settings.connections {
            Some(Amount::Total(n)) => n,
            Some(Amount::PerCore(n)) => n.saturating_mul(self.placement.client.count() as u64),
            None => 0,
        }
    }

    /// Offered requests per second over all cores of the generator; `None` in a closed loop.
    pub fn rate(&self) -> Option<f64> {
        match self.settings.rate? {
            Amount::Total(rate) => Some(rate),
            Amount::PerCore(rate) => Some(rate * self.placement.client.count() as f64),
        }
    }

    /// How long the load of one trial lasts, warm-up included.
    pub fn load_time(&self) -> Duration {
        self.settings.warmup.0 + self.settings.duration.0
    }

    /// The address of a target on this port.
    ///
    /// # Errors
    /// The placeholder of the path that has no value.
    pub fn url(&self, port: u16) -> Result<String, String> {
        Ok(match &self.settings.path {
            None => format!("tcp://127.0.0.1:{port}"),
            Some(path) => {
                let scheme = if self.settings.uses_tls() { "https" } else { "http" };
                format!("{scheme}://127.0.0.1:{port}{}", expand(path, &self.placeholders())?)
            }
        })
    }

    /// Whether `size` means anything here: over HTTP a path has to name it.
    pub fn has_size(&self) -> bool {
        self.settings.path.as_ref().is_none_or(|path| path.contains("{size}"))
    }

    /// The value of that name: totals are resolved, the rest is as the plan says.
    pub fn value(&self, name: &str) -> Option<String> {
        match name {
            "target" => Some(self.target.clone()),
            "connections" => Some(Count(self.connections()).to_string()),
            "rate" => Some(self.rate().map_or("max".to_owned(), |rate| Rate(rate).to_string())),
            "client_cores" => Some(self.placement.client.count().to_string()),
            _ => self.settings.get(name),
        }
    }

    /// The placeholders that depend on the cell alone.
    pub fn placeholders(&self) -> BTreeMap<String, String> {
        let mut values = self.settings.custom_axes.clone();
        values.insert("cores".into(), self.placement.server.to_string());
        values.insert("core_count".into(), self.placement.server.count().to_string());
        values.insert("server_cores".into(), self.placement.server.count().to_string());
        values.insert("client_cores".into(), self.placement.client.count().to_string());
        values.insert("connections".into(), self.connections().to_string());
        values.insert("size".into(), self.settings.size.0.to_string());
        values.insert("rate".into(), self.rate().map_or("max".to_owned(), |rate| rate.to_string()));
        values.insert("duration".into(), self.settings.duration.to_string());
        values.insert("warmup".into(), self.settings.warmup.to_string());
        values
    }
}

/// A cell that cannot be run here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCell {
    /// As [`Cell::id`].
    pub id: String,
    /// The target's name.
    pub target: String,
    /// Why.
    pub why: SkipReason,
}

/// The cells of a plan on a machine.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    /// To be measured, grouped by combination, targets in the order of the plan.
    pub run: Vec<Cell>,
    /// To be skipped.
    pub skipped: Vec<SkippedCell>,
    /// How many the plan's own filters leave out.
    #[serde(default)]
    pub filtered: usize,
}

/// Every cell of the plan. `unavailable` holds the targets that cannot be started here at all, and why, by name; and the
/// testers, by `tester=NAME`.
pub fn cells(plan: &Plan, machine: &Machine, unavailable: &BTreeMap<String, String>) -> Cells {
    let mut cells = Cells::default();
    let mut known = BTreeSet::new();
    let phases: Vec<Option<&Phase>> =
        if plan.phases.is_empty() { vec![None] } else { plan.phases.iter().map(Some).collect() };
    let swept =
        plan.sweeps.iter().flat_map(|sweep| combinations(&plan.load, sweep).into_iter().map(move |all| (sweep, all)));
    for (sweep, (swept, name)) in swept {
        for (target, phase) in plan.targets.iter().flat_map(|target| phases.iter().map(move |phase| (target, *phase))) {
            let (mut settings, mut combination) = (swept.clone(), name.clone());
            if let Some(phase) = phase {
                apply(&phase.set, &mut settings);
                settings.custom_axes.insert(PHASE.to_owned(), phase.name.clone());
                combination = joined(&name, &format!("{PHASE}={}", phase.name));
            }
            // A filter, like the cell's name, means the rate that a phase has a share of.
            let rate = if phase.is_some_and(Phase::shares_rate) { swept.rate } else { settings.rate };
            let planned = Settings { rate, ..settings.clone() };
            let value = |name: &str| if name == "target" { Some(target.name.clone()) } else { planned.get(name) };
            if !sweep.filter.admits(value) || !target.filter.admits(value) {
                cells.filtered += 1;
                continue;
            }
            for one in plan.overrides.iter().filter(|one| one.filter.admits(value)) {
                apply(&one.set, &mut settings);
            }
            let id = joined(&format!("target={}", target.name), &combination);
            let target_name = target.name.clone();
            match fits(target, &settings, machine, unavailable) {
                Ok(placement) => {
                    // Two sweeps may meet in the same load; it is measured once.
                    if known.insert((target_name.clone(), format!("{settings:?}"))) {
                        cells.run.push(Cell { id, target: target_name, combination, settings, placement });
                    }
                }
                Err(why) => cells.skipped.push(SkippedCell { id, target: target_name, why }),
            }
        }
    }
    cells
}

/// Where the target may run under this load, or why it may not.
fn fits(
    target: &Target,
    settings: &Settings,
    machine: &Machine,
    unavailable: &BTreeMap<String, String>,
) -> Result<Placement, SkipReason> {
    if let Some(why) = target.skip.as_ref().or(unavailable.get(&target.name)) {
        return Err(SkipReason::Other(why.clone()));
    }
    if let Some(most) = target.max_server_cores.filter(|most| settings.server_cores > *most) {
        let cores = if most == 1 { "core" } else { "cores" };
        return Err(SkipReason::Other(format!("the target runs on at most {most} server {cores}")));
    }
    if let Some(tester) = settings.external_tester() {
        let here = unavailable.get(&format!("tester={}", tester.name)).cloned();
        let http = settings
            .path
            .is_none()
            .then(|| format!("{} speaks HTTP: add path = \"/\" to the plan's [load]", tester.name));
        if let Some(why) = here.or(http).or_else(|| settings.tester_limitation()) {
            return Err(SkipReason::Other(why));
        }
    }
    assign_cores(machine, &target.pin, settings.server_cores, settings.client_cores)
}

/// All combinations of the sweep's values, the last axis varying fastest, each with its name.
fn combinations(load: &Settings, sweep: &Sweep) -> Vec<(Settings, String)> {
    let mut all = vec![(load.clone(), String::new())];
    for axis in &sweep.axes {
        let mut longer = Vec::with_capacity(all.len() * axis.values.len());
        for (settings, name) in &all {
            for value in &axis.values {
                let mut settings = settings.clone();
                let value = settings.set(&axis.name, value).expect("the plan holds values that `set` itself has spelt");
                longer.push((settings, joined(name, &format!("{}={value}", axis.name))));
            }
        }
        all = longer;
    }
    all
}

/// Two lists of `name=value`, either of which may be empty.
fn joined(first: &str, second: &str) -> String {
    let separator = if first.is_empty() || second.is_empty() { "" } else { "," };
    format!("{first}{separator}{second}")
}
