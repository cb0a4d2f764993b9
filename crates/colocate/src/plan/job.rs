//! A job of a plan.

use crate::queue::{JobOptions, Pattern, Spec, check_command};
use brunt_results::{Count, Size, Span};
use serde::Deserialize;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    /// Program and arguments; no shell reads them.
    #[serde(deserialize_with = "super::values::words")]
    pub command: Vec<String>,
    /// Finds the job's progress in its output; by default its CPU time.
    pub progress: Option<String>,
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    pub dir: Option<PathBuf>,
    #[serde(default)]
    pub priority: i32,
    #[serde(default, deserialize_with = "super::values::retries")]
    pub retries: u32,
    /// Starts it again whenever it has ended well.
    #[serde(default)]
    pub repeat: bool,
    /// Jobs of a kind disturb the service alike; by default the name of the program.
    pub kind: Option<String>,
    /// Most memory of its processes.
    pub memory: Option<Size>,
    /// Most processes and threads.
    #[serde(default, deserialize_with = "super::values::count")]
    pub processes: Option<Count>,
    /// Most CPU time, in cores.
    #[serde(default, deserialize_with = "super::values::cores_used")]
    pub cores: Option<f64>,
    /// From SIGTERM to SIGKILL, where it is told to end.
    pub term_grace: Option<Span>,
    /// The user that it runs as.
    pub user: Option<String>,
}

impl Job {
    pub(super) fn check(&self) -> Result<(), String> {
        let options = self.options();
        let checked = check_command(&self.command).and_then(|()| options.check()).and_then(|()| options.check_user());
        checked.map_err(|why| format!("[[job]] {why}"))?;
        self.pattern().map(drop)
    }

    fn options(&self) -> JobOptions {
        let Self { kind, memory, processes, cores, term_grace, user, .. } = self.clone();
        JobOptions { kind, memory, processes, cores, term_grace, user }
    }

    fn pattern(&self) -> Result<Option<Pattern>, String> {
        let parsed = self.progress.as_ref().map(|text| text.parse()).transpose();
        parsed.map_err(|why| format!("[[job]] progress: {why}"))
    }

    /// The same for the queue; relative directories are below `base`.
    pub fn spec(&self, base: &Path) -> Result<Spec, String> {
        Ok(Spec {
            argv: self.command.clone(),
            env: self.env.clone(),
            dir: self.dir.as_ref().map_or_else(|| base.to_owned(), |dir| base.join(dir)),
            priority: self.priority,
            retries: self.retries,
            progress_pattern: self.pattern()?,
            options: self.options(),
        })
    }
}
