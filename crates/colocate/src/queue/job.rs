//! A job: what to run, and how far it is.

use super::{Pattern, State};
use crate::user::User;
use brunt_results::Span;
use serde::{Deserialize, Serialize};
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
    #[serde(flatten)]
    pub options: JobOptions,
}

/// What few jobs need.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct JobOptions {
    /// From SIGTERM to SIGKILL, where it is told to end; half a second without it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub term_grace: Option<Span>,
    /// The user that it runs as.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl JobOptions {
    /// # Errors
    /// The user does not exist, or cannot be taken.
    pub fn check(&self) -> Result<(), String> {
        let Some(user) = &self.user else { return Ok(()) };
        User::named(user).and_then(|user| user.may_be_taken()).map_err(|why| format!("user {user}: {why}"))
    }
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
