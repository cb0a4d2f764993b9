//! What a run does at the moment, in a file beside its journal, for `brunt colocate status`.

use super::coordinator::Coordinator;
use super::kinds::Names;
use crate::clock;
use crate::jobs::Live;
use crate::journal;
use crate::plan::Plan;
use crate::policy::limits::Known;
use crate::policy::{Decision, Reason};
use crate::readings::Readings;
use brunt_meter::proc_stat::start_time;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;
use std::{fs, process};

/// Of a run, as of a moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// When it was written, in seconds of CLOCK_MONOTONIC.
    pub written: f64,
    pub controller: Process,
    pub guardians: Vec<Process>,
    pub out: PathBuf,
    pub policy: String,
    pub quantile: f64,
    pub limit_ms: f64,
    /// Since the begin of the run.
    pub seconds: f64,
    pub readings: Readings,
    pub decision: Decision,
    /// Decisions so far, by their reason.
    pub decisions: BTreeMap<Reason, u64>,
    /// Allotments that the policy has learned to be too much.
    pub limits: Vec<LearnedLimit>,
    /// Requests since the begin, and those of them that were slow.
    pub requests: (u64, u64),
    /// The share of slow ones.
    pub slow_share: Option<f64>,
    /// What cannot be done: limits that are not in effect, a log that cannot be written.
    pub faults: Vec<String>,
    pub jobs: Vec<Job>,
}

/// An allotment that was too much.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnedLimit {
    /// Kinds of the jobs that ran.
    pub kinds: Vec<String>,
    #[serde(flatten)]
    pub known: Known,
}

/// A process with its start time in clock ticks since boot, which tells it from a later one of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    pub pid: u32,
    pub started: u64,
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

impl Process {
    fn of(pid: u32) -> Self {
        Self { pid, started: start_time(pid).unwrap_or(0) }
    }
}

/// The status of all runs of this user that is left, of dead ones too, each with its journal.
pub fn all() -> io::Result<Vec<(PathBuf, Status)>> {
    let journals = journal::all(&journal::folder()?);
    let read = |journal: PathBuf| {
        let status = serde_json::from_str(&fs::read_to_string(beside(&journal)).ok()?).ok()?;
        Some((journal, status))
    };
    Ok(journals.into_iter().filter_map(read).collect())
}

fn beside(path: &Path) -> PathBuf {
    path.with_extension(journal::STATUS)
}

/// The file; removed when dropped.
#[derive(Debug)]
pub(super) struct File {
    path: PathBuf,
    out: PathBuf,
    controller: Process,
    guardians: Vec<Process>,
    policy: String,
    quantile: f64,
    limit_ms: f64,
    /// Whether it could not be written.
    is_failing: bool,
}

impl File {
    pub(super) fn new(journal: &Path, plan: &Plan, out: &Path) -> Self {
        let objective = plan.service.slo;
        Self {
            path: beside(journal),
            out: out.canonicalize().unwrap_or_else(|_| out.to_owned()),
            controller: Process::of(process::id()),
            guardians: Vec::new(),
            policy: plan.policy.to_string(),
            quantile: objective.quantile,
            limit_ms: objective.limit_ms,
            is_failing: false,
        }
    }

    /// From now on they guard the jobs.
    pub(super) fn guardians(&mut self, pids: &[u32]) {
        self.guardians = pids.iter().map(|pid| Process::of(*pid)).collect();
    }

    /// What there is to tell; `None` before the first decision.
    pub(super) fn made<'a>(
        &self,
        coordinator: &Coordinator,
        names: &Names,
        jobs: impl Iterator<Item = Live<'a>>,
        faults: Vec<String>,
        now: Instant,
    ) -> Option<Status> {
        let (decision, readings) = coordinator.last()?;
        let limits = coordinator.limits().into_iter();
        Some(Status {
            written: clock::monotonic().1,
            controller: self.controller,
            guardians: self.guardians.clone(),
            out: self.out.clone(),
            policy: self.policy.clone(),
            quantile: self.quantile,
            limit_ms: self.limit_ms,
            seconds: coordinator.time().as_secs_f64(),
            readings,
            decision,
            decisions: coordinator.decisions().clone(),
            limits: limits.map(|(kinds, known)| LearnedLimit { kinds: names.of(kinds), known }).collect(),
            requests: coordinator.tally().seen(),
            slow_share: coordinator.tally().slow_share(),
            faults,
            jobs: jobs.map(|live| job(live, now)).collect(),
        })
    }

    /// Replaces the file. The error, the first time in a row: the run can do without it, and its readers see its age.
    pub(super) fn write(&mut self, status: &Status) -> Option<String> {
        let new = self.path.with_extension("status.new");
        let text = serde_json::to_string(status).unwrap_or_default();
        let written = fs::write(&new, text).and_then(|()| fs::rename(&new, &self.path));
        let was_failing = std::mem::replace(&mut self.is_failing, written.is_err());
        let error = written.err().filter(|_| !was_failing)?;
        Some(format!("{}: {error}: brunt colocate status shows what was before", self.path.display()))
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
        super::orders::discard(&self.path);
    }
}
