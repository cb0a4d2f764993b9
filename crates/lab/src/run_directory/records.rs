//! `trial.json` and `failed.json` of a trial.

use super::machine_speed::SpeedSample;
use serde::{Deserialize, Serialize};

/// `failed.json`: why a trial has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// In one line.
    pub why: String,
    /// The last lines that the culprit wrote.
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

/// `trial.json`: what was started, so that anyone can do it again by hand.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TrialRecord {
    /// Name of the cell.
    pub cell: String,
    /// Counted from 1.
    pub repeat: u32,
    /// Place in the order of the experiment, counted from 1.
    pub number: usize,
    /// Seconds since 1970-01-01 UTC.
    pub started_unix_s: u64,
    /// The command line of what was run before the target, if anything was.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub before: Vec<String>,
    /// The target's command line.
    pub target: Vec<String>,
    /// The tester's command line.
    pub tester: Vec<String>,
    /// The command line of what is run when the target has been stopped, if anything is.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub after: Vec<String>,
    /// How fast the machine was before and after.
    #[serde(default)]
    #[serde(rename = "pace")]
    pub speed: Option<SpeedSample>,
}
