//! `experiment.json` of a run; `trial.json` and `failed.json` of a trial.

use crate::plan::{Style, colocation::Objective};
use crate::schedule::Cells;
use brunt_results::colocation::Summary;
use serde::{Deserialize, Serialize};

/// Name and version of `experiment.json`.
pub const SCHEMA: &str = "brunt.experiment/1";

#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Experiment {
    pub schema: String,
    pub name: String,
    pub description: String,
    /// [`Plan::hash`](crate::plan::Plan::hash).
    pub plan_hash: String,
    pub seed: u64,
    pub repeats: u32,
    pub best_over: Option<String>,
    #[serde(default)]
    pub baseline: Option<String>,
    #[serde(default)]
    pub style: Option<Style>,
    /// Of a sliced experiment: differences below this share do not matter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub margin: Option<f64>,
    /// Of a sliced experiment: half width of the intervals that is asked for, as a share.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub precision: Option<f64>,
    /// Command line that started or last continued the experiment.
    pub command: Vec<String>,
    /// Start, in seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// All cells that this machine can run, and the selected ones that it cannot.
    pub cells: Cells,
    /// `CELL/REPEAT` of every selected trial, in order.
    pub order: Vec<String>,
}

/// `failed.json`: why a trial has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub why: String,
    /// The last lines of the log of the process that failed.
    pub log: Vec<String>,
}

impl Failure {
    /// Reason and log in one line.
    pub fn line(&self) -> String {
        match self.log.as_slice() {
            [] => self.why.clone(),
            log => format!("{}: {}", self.why, log.join(" | ")),
        }
    }
}

/// `trial.json`: the command lines of a trial, for repeating it by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    pub cell: String,
    /// Counted from 1.
    pub repeat: u32,
    /// Position in the order of the experiment, counted from 1.
    pub number: usize,
    /// Seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    pub target: Vec<String>,
    pub tester: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
}

/// `colocation.json`: what ran beside the target of a trial.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Colocated {
    pub policy: String,
    pub co_runner: String,
    pub resource: Option<String>,
    pub objective: Objective,
    /// Requests a second at which the load is 100 %.
    pub peak: f64,
    /// Of the measured window.
    pub seconds: Option<Seconds>,
    /// From just before the load until just after it; `None` if the service was alone.
    pub summary: Option<Summary>,
    /// Of the co-runner without load on the service and without bounds, in the same repeat.
    pub unloaded: Option<Summary>,
    /// Written before the load, and again after it: false if the trial was cut off between.
    pub is_complete: bool,
}

impl Colocated {
    pub const FILE: &str = "colocation.json";
}

/// What a controller reports at its end.
pub const SUMMARY: &str = "summary.json";

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seconds {
    pub all: u64,
    /// With more slow responses than the objective allows, or with none.
    pub bad: u64,
}
