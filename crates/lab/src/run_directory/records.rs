//! `trial.json` and `failed.json` of a trial.

use super::machine_speed::SpeedSample;
use serde::{Deserialize, Serialize};

/// `failed.json`: why a trial has no result.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// One line.
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
    /// Id of the cell.
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
    /// Speed of the machine before and after.
    #[serde(default, rename = "pace")]
    pub speed: Option<SpeedSample>,
}
