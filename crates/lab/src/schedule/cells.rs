//! The cells of a plan on a machine: every combination of every sweep on every target; those that cannot run here are
//! skipped with a reason. Pure.

use super::cpu_assignment::{Machine, Placement, SkipReason, assign_cores};
use crate::plan::phase::{Phase, apply};
use crate::plan::settings::{Amount, Settings};
use crate::plan::template::expand;
use crate::plan::{Filter, PHASE, Plan, Sweep, Target};
use brunt_results::{Count, Rate};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

type Pair = (String, String);

/// One combination of swept values on one target.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "CellRecord", into = "CellRecord")]
pub struct Cell {
    pub target: String,
    /// Swept names and their values, in the order of the plan.
    pub axes: Vec<Pair>,
    /// The phase, if a start of the target has several.
    pub phase: Option<String>,
    pub settings: Settings,
    pub placement: Placement,
    /// Derived from target, axes and phase as planned; a report may relabel the target later.
    id: String,
    combination: String,
}

impl Cell {
    pub fn new(
        target: String,
        axes: Vec<Pair>,
        phase: Option<String>,
        settings: Settings,
        placement: Placement,
    ) -> Self {
        let combination = combination(&axes, phase.as_deref());
        Self { id: id(&target, &combination), combination, target, axes, phase, settings, placement }
    }

    /// `target=uring,connections=80`: its name, its directory, and what selects it with `--only`.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The swept values and the phase, as in the id; equal for all targets under the same load.
    pub fn combination(&self) -> &str {
        &self.combination
    }

    /// Whether one start of the target serves both cells, as phases that follow each other.
    pub fn shares_start(&self, other: &Self) -> bool {
        self.phase.is_some() && other.phase.is_some() && self.target == other.target && self.axes == other.axes
    }

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

    pub fn load_time(&self) -> Duration {
        self.settings.warmup.0 + self.settings.duration.0
    }

    pub fn url(&self, port: u16) -> Result<String, String> {
        let path = self.settings.path.as_ref().map_or(Ok(String::new()), |path| expand(path, &self.placeholders()))?;
        Ok(format!("{}://127.0.0.1:{port}{path}", self.settings.scheme()))
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
#[serde(from = "SkippedRecord", into = "SkippedRecord")]
pub struct SkippedCell {
    pub target: String,
    pub axes: Vec<Pair>,
    pub phase: Option<String>,
    pub why: SkipReason,
}

impl SkippedCell {
    pub fn id(&self) -> String {
        id(&self.target, &combination(&self.axes, self.phase.as_deref()))
    }

    pub fn value(&self, name: &str) -> Option<&str> {
        match name {
            "target" => Some(&self.target),
            PHASE => self.phase.as_deref(),
            _ => self.axes.iter().find(|(axis, _)| axis == name).map(|(_, value)| value.as_str()),
        }
    }
}

fn combination(axes: &[Pair], phase: Option<&str>) -> String {
    let axes = axes.iter().map(|(name, value)| format!("{name}={value}"));
    axes.chain(phase.map(|phase| format!("{PHASE}={phase}"))).collect::<Vec<_>>().join(",")
}

fn id(target: &str, combination: &str) -> String {
    format!("target={target}{}{combination}", if combination.is_empty() { "" } else { "," })
}

/// [`Cell`] in `experiment.json`.
#[derive(Serialize, Deserialize)]
struct CellRecord {
    id: String,
    target: String,
    combination: String,
    settings: Settings,
    placement: Placement,
}

/// [`SkippedCell`] in `experiment.json`.
#[derive(Serialize, Deserialize)]
struct SkippedRecord {
    id: String,
    target: String,
    why: SkipReason,
}

/// The pairs of `name=value,name=value`, and the phase, which is the last.
fn parse_pairs(text: &str) -> (Vec<Pair>, Option<String>) {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let mut pairs: Vec<Pair> = pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect();
    let phase = pairs.pop_if(|(name, _)| name == PHASE).map(|(_, phase)| phase);
    (pairs, phase)
}

impl From<CellRecord> for Cell {
    fn from(record: CellRecord) -> Self {
        let CellRecord { id, target, combination, settings, placement } = record;
        let (axes, phase) = parse_pairs(&combination);
        Self { target, axes, phase, settings, placement, id, combination }
    }
}

impl From<Cell> for CellRecord {
    fn from(cell: Cell) -> Self {
        let Cell { target, settings, placement, id, combination, .. } = cell;
        Self { id, target, combination, settings, placement }
    }
}

impl From<SkippedRecord> for SkippedCell {
    fn from(SkippedRecord { id, target, why }: SkippedRecord) -> Self {
        let (mut axes, phase) = parse_pairs(&id);
        axes.retain(|(name, _)| name != "target");
        Self { target, axes, phase, why }
    }
}

impl From<SkippedCell> for SkippedRecord {
    fn from(cell: SkippedCell) -> Self {
        Self { id: cell.id(), target: cell.target, why: cell.why }
    }
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
            let (name, axes) = (target.name.clone(), axes.clone());
            let phase = phase.map(|phase| phase.name.clone());
            match fits(target, &settings, machine, unavailable) {
                Ok(placement) => {
                    // Two sweeps may contain the same load; it is measured once.
                    if known.insert((name.clone(), format!("{settings:?}"))) {
                        cells.run.push(Cell::new(name, axes, phase, settings, placement));
                    }
                }
                Err(why) => cells.skipped.push(SkippedCell { target: name, axes, phase, why }),
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
    let tester = settings.external_tester();
    let here = tester.and_then(|tester| unavailable.get(&format!("tester={}", tester.name)).cloned());
    if let Some(why) = here.or_else(|| settings.tester_limitation()) {
        return Err(SkipReason::Other(why));
    }
    assign_cores(machine, &target.pin, settings.server_cores, settings.client_cores)
}

/// All combinations of the sweep's values, the last axis varying fastest.
fn combinations(load: &Settings, sweep: &Sweep) -> Vec<(Settings, Vec<Pair>)> {
    let mut all = vec![(load.clone(), Vec::new())];
    for axis in &sweep.axes {
        let mut longer = Vec::with_capacity(all.len() * axis.values.len());
        for (settings, pairs) in &all {
            for value in &axis.values {
                let (mut settings, mut pairs) = (settings.clone(), pairs.clone());
                let value = settings.set(&axis.name, value).expect("the plan holds values that `set` has normalized");
                pairs.push((axis.name.clone(), value));
                longer.push((settings, pairs));
            }
        }
        all = longer;
    }
    all
}
