//! A job: what to run, and how far it is.

use super::{Pattern, State};
use serde::Serialize;
use std::{collections::BTreeMap, path::PathBuf};

/// What to run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Spec {
    /// Program and arguments; no shell reads them.
    pub argv: Vec<String>,
    /// Added to the environment of the runner.
    pub env: BTreeMap<String, String>,
    /// Working directory.
    pub dir: PathBuf,
    /// Higher ones are started first.
    pub priority: i32,
    /// Starts after a failure.
    pub retries: u32,
    /// Finds the figure of progress in the job's output.
    pub progress_pattern: Option<Pattern>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Job {
    pub id: i64,
    #[serde(flatten)]
    pub spec: Spec,
    pub state: State,
    pub cancel_asked: bool,
    pub failures: u32,
    pub added_unix_ms: i64,
}
