//! The cells of a plan on a machine: every combination of every sweep on every target; those that cannot run here are
//! skipped with a reason. Pure.

use super::cpu_assignment::{Machine, Placement, SkipReason, assign_cores, assign_elsewhere};
use crate::format::plural;
use crate::plan::phase::{Phase, apply};
use crate::plan::settings::{Amount, Settings};
use crate::plan::template::expand;
use crate::plan::{Filter, PHASE, Plan, Sweep, Target, TargetKind};
use brunt_results::{Count, Rate};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

/// One combination of swept values on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Of target and combination as planned; a report may relabel the target later.
    id: String,
    pub target: String,
    combination: String,
    pub settings: Settings,
    pub placement: Placement,
}

/// Open files of a server beside its connections.
pub(crate) const OTHER_FILES: u64 = 100;

impl Settings {
    fn total_connections(&self, placement: &Placement) -> u64 {
        match self.connections {
            Some(Amount::Total(n)) => n,
            Some(Amount::PerCore(n)) => n.saturating_mul(placement.client.count() as u64),
            None => 0,
        }
    }
}

impl Cell {
    pub fn new(target: String, combination: String, settings: Settings, placement: Placement) -> Self {
        Self { id: id(&target, &combination), target, combination, settings, placement }
    }

    /// `target=uring,connections=80`: its name, its directory, and what selects it with `--only`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Swept names and their values in the order of the plan, and the phase, as in the id; equal for all targets under the
    /// same load.
    pub fn combination(&self) -> &str {
        &self.combination
    }

    /// The phase, if a start of the target has several.
    pub fn phase(&self) -> Option<&str> {
        value_in(&self.combination, PHASE)
    }

    /// The combination without the phase.
    pub fn axes(&self) -> &str {
        let phase = self.phase().map_or(0, |phase| PHASE.len() + 1 + phase.len());
        self.combination[..self.combination.len() - phase].trim_end_matches(',')
    }

    /// Whether one start of the target serves both cells, as phases that follow each other.
    pub fn shares_start(&self, other: &Self) -> bool {
        let both_have_phases = self.phase().is_some() && other.phase().is_some();
        both_have_phases && self.target == other.target && self.axes() == other.axes()
    }

    pub fn connections(&self) -> u64 {
        self.settings.total_connections(&self.placement)
    }

    /// Offered requests per second over all cores of the generator; `None` in a closed loop.
    pub fn rate(&self) -> Option<f64> {
        match self.settings.rate? {
            Amount::Total(rate) => Some(rate),
            Amount::PerCore(rate) => Some(rate * self.placement.client.count() as f64),
        }
    }

    pub fn load_time(&self) -> Duration {
        self.settings.warmup.0 + self.settings.duration.0
    }

    pub fn url(&self, target: SocketAddr) -> Result<String, String> {
        Ok(self.urls(target)?.swap_remove(0))
    }

    /// The URLs of the load, at least one.
    pub fn urls(&self, target: SocketAddr) -> Result<Vec<String>, String> {
        let (scheme, values) = (self.settings.scheme(), self.placeholders());
        let url = |path: &str| Ok(format!("{scheme}://{target}{}", expand(path, &values)?));
        match self.settings.path {
            None => Ok(vec![url("")?]),
            // The paths are those of the file.
            Some(_) if self.settings.request_file.is_some() || self.settings.replay.is_some() => Ok(vec![url("/")?]),
            Some(_) => self.settings.paths().map(url).collect(),
        }
    }

    /// Whether the load depends on `size`: over HTTP only if the path names it.
    pub fn has_size(&self) -> bool {
        self.settings.path.as_ref().is_none_or(|path| path.contains("{size}"))
    }

    /// The value of that name, with totals resolved.
    pub fn value(&self, name: &str) -> Option<String> {
        match name {
            "target" => Some(self.target.clone()),
            "connections" => Some(Count(self.connections()).to_string()),
            "rate" => Some(self.rate().map_or("max".to_owned(), |rate| Rate(rate).to_string())),
            "client_cores" => Some(self.placement.client.count().to_string()),
            _ => self.settings.get(name),
        }
    }

    /// Values of the placeholders that depend on the cell alone.
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

/// A cell that cannot run here.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedCell {
    pub id: String,
    pub target: String,
    pub why: SkipReason,
}

impl SkippedCell {
    pub fn value(&self, name: &str) -> Option<&str> {
        value_in(&self.id, name)
    }
}

fn id(target: &str, combination: &str) -> String {
    joined(&format!("target={target}"), combination)
}

/// The pairs of `name=value,name=value`.
pub fn pairs(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(|pair| pair.split_once('='))
}

pub(super) fn value_in<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    pairs(text).find(|(known, _)| *known == name).map(|(_, value)| value)
}

fn joined(pairs: &str, more: &str) -> String {
    [pairs, more].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(",")
}

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Cells {
    /// To be measured, grouped by combination, targets in the order of the plan.
    pub run: Vec<Cell>,
    pub skipped: Vec<SkippedCell>,
    /// Number of cells that the plan's own filters leave out.
    #[serde(default)]
    pub filtered: usize,
}

/// Every cell of the plan. `unavailable`: why targets (by name) and testers (by `tester=NAME`) cannot run here.
pub fn cells(plan: &Plan, machine: &Machine, unavailable: &BTreeMap<String, String>) -> Cells {
    let mut cells = Cells::default();
    let mut known = BTreeSet::new();
    let phases: Vec<Option<&Phase>> =
        if plan.phases.is_empty() { vec![None] } else { plan.phases.iter().map(Some).collect() };
    let swept =
        plan.sweeps.iter().flat_map(|sweep| combinations(&plan.load, sweep).into_iter().map(move |all| (sweep, all)));
    for (sweep, (swept, axes)) in swept {
        for (target, phase) in plan.targets.iter().flat_map(|target| phases.iter().map(move |phase| (target, *phase))) {
            let Some(settings) = settings(plan, [&sweep.filter, &target.filter], &swept, target, phase) else {
                cells.filtered += 1;
                continue;
            };
            let phase = phase.map_or(String::new(), |phase| format!("{PHASE}={}", phase.name));
            let (name, combination) = (target.name.clone(), joined(&axes, &phase));
            match fits(plan, target, &settings, machine, unavailable) {
                Ok(placement) => {
                    // Two sweeps may contain the same load; it is measured once.
                    if known.insert((name.clone(), format!("{settings:?}"))) {
                        cells.run.push(Cell::new(name, combination, settings, placement));
                    }
                }
                Err(why) => cells.skipped.push(SkippedCell { id: id(&name, &combination), target: name, why }),
            }
        }
    }
    cells
}

/// The load of a cell, with the values of its phase and of overrides; `None` if a filter leaves the cell out.
fn settings(
    plan: &Plan,
    filters: [&Filter; 2],
    swept: &Settings,
    target: &Target,
    phase: Option<&Phase>,
) -> Option<Settings> {
    let mut settings = swept.clone();
    if let Some(phase) = phase {
        apply(&phase.set, &mut settings);
        settings.custom_axes.insert(PHASE.to_owned(), phase.name.clone());
    }
    // Filters, like the id, see the rate that a phase has a share of.
    let rate = if phase.is_some_and(Phase::shares_rate) { swept.rate } else { settings.rate };
    let planned = Settings { rate, ..settings.clone() };
    let value = |name: &str| if name == "target" { Some(target.name.clone()) } else { planned.get(name) };
    if !filters.iter().all(|filter| filter.admits(value)) {
        return None;
    }
    for one in plan.overrides.iter().filter(|one| one.filter.admits(value)) {
        apply(&one.set, &mut settings);
    }
    Some(settings)
}

fn fits(
    plan: &Plan,
    target: &Target,
    settings: &Settings,
    machine: &Machine,
    unavailable: &BTreeMap<String, String>,
) -> Result<Placement, SkipReason> {
    if let Some(why) = target.skip.as_ref().or(unavailable.get(&target.name)) {
        return Err(SkipReason::Other(why.clone()));
    }
    if let Some(most) = target.max_server_cores.filter(|most| settings.server_cores > *most) {
        return Err(SkipReason::Other(format!("the target runs on at most {}", plural(most, "server core"))));
    }
    let tester = settings.external_tester();
    let here = tester.and_then(|tester| unavailable.get(&format!("tester={}", tester.name)).cloned());
    if let Some(why) = here.or_else(|| settings.tester_limitation()) {
        return Err(SkipReason::Other(why));
    }
    let beside = plan.beside(settings.policy.as_deref(), settings.co_runner.as_deref());
    if let Some(why) = beside.err().or_else(|| settings.policy_limitation()) {
        return Err(SkipReason::Other(why));
    }
    if let Some(on) = &target.on {
        return elsewhere(on, settings, machine);
    }
    let placement = assign_cores(machine, &target.pin, settings.server_cores, settings.client_cores)?;
    match too_many_connections(target, settings, &placement, machine.open_files) {
        Some(why) => Err(SkipReason::Other(why)),
        None => Ok(placement),
    }
}

/// The placement of a load on a target of another machine, which gives that its cores itself.
fn elsewhere(on: &str, settings: &Settings, machine: &Machine) -> Result<Placement, SkipReason> {
    let why = match settings.external_tester() {
        Some(tester) => format!("it is on {on}, and {} is metered beside targets of this machine alone", tester.name),
        None if settings.has_jobs() => format!("it is on {on}, and jobs run beside targets of this machine alone"),
        None => return assign_elsewhere(machine, settings.server_cores, settings.client_cores),
    };
    Err(SkipReason::Other(why))
}

/// Why a target that is one process, or with `prefork` one for each core, cannot hold these connections, if so.
fn too_many_connections(target: &Target, settings: &Settings, placement: &Placement, files: u64) -> Option<String> {
    let prefork = matches!(&target.kind, TargetKind::Serve { model, .. } if model == "prefork");
    let processes = if prefork { settings.server_cores } else { 1 };
    let files = target.limits.open_files(files);
    let most = files.saturating_sub(OTHER_FILES).saturating_mul(processes as u64);
    let connections = settings.total_connections(placement);
    (target.single_process && connections > most).then(|| {
        let limit = match prefork {
            true => format!("its {} may open {files} files each", plural(processes, "worker")),
            false => format!("its one process may open {files} files"),
        };
        format!("{limit}, too few for {} connections: raise the hard limit (ulimit -Hn)", Count(connections))
    })
}

/// All combinations of the sweep's values, as settings and as `name=value,name=value`, the last axis varying fastest.
fn combinations(load: &Settings, sweep: &Sweep) -> Vec<(Settings, String)> {
    let mut all = vec![(load.clone(), String::new())];
    for axis in &sweep.axes {
        let mut longer = Vec::with_capacity(all.len() * axis.values.len());
        for (settings, pairs) in &all {
            for value in &axis.values {
                let mut settings = settings.clone();
                let value = settings.set(&axis.name, value).expect("the plan holds values that `set` has normalized");
                longer.push((settings, joined(pairs, &format!("{}={value}", axis.name))));
            }
        }
        all = longer;
    }
    all
}
