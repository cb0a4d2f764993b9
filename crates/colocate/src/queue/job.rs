//! A job: what to run, and how far it is.

use super::{Pattern, State};
use crate::user::User;
use brunt_results::{Count, Size, Span};
use serde::{Deserialize, Serialize};
use std::{collections::BTreeMap, path::PathBuf, time::Duration};

/// PID_MAX_LIMIT of 64-bit kernels.
const MOST_PROCESSES: u64 = 4 << 20;
const LONGEST_GRACE: Span = Span(Duration::from_secs(3600));
/// Least limit on memory: the kernel needs some for each process.
const LEAST_MEMORY: Size = Size(1 << 20);

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
#[serde(default)]
pub struct JobOptions {
    /// Jobs of a kind disturb the service alike; the name of the program without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Most memory of its processes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory: Option<Size>,
    /// Most processes and threads.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub processes: Option<Count>,
    /// Most CPU time, in cores.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cores: Option<f64>,
    /// From SIGTERM to SIGKILL, where it is told to end; half a second without it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub term_grace: Option<Span>,
    /// The user that it runs as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
}

impl JobOptions {
    /// Whether they make sense; the user is another matter.
    ///
    /// # Errors
    /// One does not.
    pub fn check(&self) -> Result<(), String> {
        if self.memory.is_some_and(|size| size < LEAST_MEMORY) {
            return Err(format!("memory is less than any program needs: at least {LEAST_MEMORY}"));
        }
        if self.processes.is_some_and(|count| count.0 == 0) {
            return Err("processes is 0: at least one must be able to run".to_owned());
        }
        if let Some(count) = self.processes.filter(|count| count.0 > MOST_PROCESSES) {
            return Err(format!("processes is {count}: the kernel has {MOST_PROCESSES} at most"));
        }
        if let Some(grace) = self.term_grace.filter(|grace| *grace > LONGEST_GRACE) {
            return Err(format!("term_grace is {grace}: at most {LONGEST_GRACE}, for which the end of a run may take"));
        }
        if self.cores.is_some_and(|cores| !(0.001..=1e4).contains(&cores)) {
            return Err("cores is CPU time, in cores, from 0.001 to 10000".to_owned());
        }
        if self.kind.as_ref().is_some_and(|kind| kind.trim().is_empty() || kind.contains([',', '\n'])) {
            return Err("kind is a word or some, without a comma".to_owned());
        }
        Ok(())
    }

    /// # Errors
    /// The user does not exist, or cannot be taken.
    pub fn check_user(&self) -> Result<(), String> {
        let Some(user) = &self.user else { return Ok(()) };
        User::named(user).and_then(|user| user.may_be_taken()).map_err(|why| format!("user {user}: {why}"))
    }
}

/// # Errors
/// There is no program in it.
pub fn check_command(argv: &[String]) -> Result<(), String> {
    match argv.first() {
        Some(program) if !program.is_empty() => Ok(()),
        _ => Err("command is empty: name a program".to_owned()),
    }
}

impl Spec {
    /// Jobs of a kind disturb the service alike.
    pub fn kind(&self) -> &str {
        let program = self.argv.first().map_or("", |program| program.rsplit('/').next().unwrap_or(program));
        self.options.kind.as_deref().unwrap_or(program)
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
