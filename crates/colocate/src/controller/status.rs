//! What a run does at the moment, in a file beside its journal, for `brunt colocate status`.

use super::coordinator::Coordinator;
use crate::jobs::Live;
use crate::journal;
use crate::plan::Plan;
use crate::policy::Decision;
use crate::readings::Readings;
use brunt_meter::proc_stat::start_time;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, process};

/// Of a run, as of up to a second ago.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The controller, with its start time in clock ticks since boot.
    pub pid: u32,
    pub started: u64,
    pub guardian: Option<u32>,
    pub out: PathBuf,
    pub policy: String,
    pub quantile: f64,
    pub limit_ms: f64,
    /// Since the begin of the run.
    pub seconds: f64,
    pub readings: Readings,
    pub decision: Decision,
    /// Share of slow requests since the begin.
    pub slow_share: Option<f64>,
    pub jobs: Vec<Job>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Job {
    pub id: i64,
    pub pid: u32,
    pub command: Vec<String>,
    pub seconds: f64,
    pub cpu_seconds: Option<f64>,
    pub progress: Option<f64>,
    pub per_second: Option<f64>,
}

impl Status {
    /// Whether its controller lives.
    pub fn is_alive(&self) -> bool {
        start_time(self.pid) == Some(self.started)
    }
}

/// All runs of this user whose status is left, dead ones too.
pub fn all() -> io::Result<Vec<Status>> {
    let journals = journal::all(&journal::folder()?);
    let read = |journal: &PathBuf| serde_json::from_str(&fs::read_to_string(beside(journal)).ok()?).ok();
    Ok(journals.iter().filter_map(read).collect())
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension(journal::STATUS)
}

/// The file; removed when dropped.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    out: PathBuf,
    guardian: Option<u32>,
    policy: String,
    quantile: f64,
    limit_ms: f64,
}

impl File {
    pub(super) fn new(journal: &Path, plan: &Plan, out: &Path, guardian: Option<u32>) -> Self {
        let out = out.canonicalize().unwrap_or_else(|_| out.to_owned());
        let objective = plan.service.slo;
        let (policy, quantile, limit_ms) = (plan.policy.to_string(), objective.quantile, objective.limit_ms);
        Self { path: beside(journal), out, guardian, policy, quantile, limit_ms }
    }

    /// Replaces the file. Its readers can do without it, so errors are not reported.
    pub(super) fn write<'a>(&self, coordinator: &Coordinator, jobs: impl Iterator<Item = Live<'a>>, now: Instant) {
        let Some((decision, readings)) = coordinator.last() else { return };
        let status = Status {
            pid: process::id(),
            started: start_time(process::id()).unwrap_or(0),
            guardian: self.guardian,
            out: self.out.clone(),
            policy: self.policy.clone(),
            quantile: self.quantile,
            limit_ms: self.limit_ms,
            seconds: coordinator.time().as_secs_f64(),
            readings,
            decision,
            slow_share: coordinator.tally().slow_share(),
            jobs: jobs.map(|live| job(live, now)).collect(),
        };
        let new = self.path.with_extension("status.new");
        let text = serde_json::to_string(&status).unwrap_or_default();
        let _ = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.path));
    }
}

fn job(live: Live<'_>, now: Instant) -> Job {
    let progress = live.usage.progress;
    Job {
        id: live.id.job,
        pid: live.pid,
        command: live.job.spec.argv.clone(),
        seconds: now.saturating_duration_since(live.since).as_secs_f64(),
        cpu_seconds: live.usage.cpu_seconds,
        progress: progress.map(|progress| progress.value),
        per_second: progress.and_then(|progress| progress.rate),
    }
}

impl Drop for File {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
