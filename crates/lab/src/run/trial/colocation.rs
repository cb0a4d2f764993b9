//! Best-effort jobs beside the target of a trial: `brunt colocate run` with a plan of its own, from just before the load until
//! just after it.
//!
//! Invariant: the controller is ended before the target, and ends its jobs itself.

use super::{Result, TESTER_LOG, TrialContext, TrialError};
use crate::clock::poll;
use crate::fs_error::with_path;
use crate::plan::colocation::{Beside, Objective};
use crate::plan::policy::{self, NONE};
use crate::run_directory::{Colocated, RunDirectory, SUMMARY, Seconds};
use crate::schedule::Cell;
use crate::system::process_group::{Launch, ProcessGroup, describe_exit, last_lines};
use brunt_meter::poll::every;
use brunt_results::colocation::Summary;
use brunt_results::directory::Directory;
use brunt_results::{Cores, RunResult, hlog};
use serde::Serialize;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Requests by tenths of a second, from the load to the controller.
const COUNTS: &str = "counts.jsonl";
const PLAN: &str = "colocate.toml";
const LOG: &str = "colocate.log";
const OUT: &str = "colocate.out";
/// Directory of the controller: audit log, summary, output of the jobs.
const FOLDER: &str = "colocate";

/// First file that the controller writes there.
const AUDIT: &str = "audit.jsonl";

const START_TIMEOUT: Duration = Duration::from_secs(10);
/// Time for the controller to end its jobs and to restore the machine.
const STOP_TIMEOUT: Duration = Duration::from_secs(20);

/// A plan of `brunt colocate run`.
#[derive(Serialize)]
struct ControllerPlan<'a> {
    policy: String,
    cores: String,
    /// Jobs grow to what the policy gives them.
    warmup: String,
    out: &'a Path,
    service: Service<'a>,
    source: Source<'a>,
    job: [Job<'a>; 1],
}

#[derive(Serialize)]
struct Service<'a> {
    pid: u32,
    peak: String,
    slo: &'a str,
}

#[derive(Serialize)]
struct Source<'a> {
    file: &'a Path,
}

#[derive(Serialize)]
struct Job<'a> {
    command: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    progress: Option<&'a str>,
    repeat: bool,
}

/// A running controller with its jobs; ended when dropped.
pub(super) struct Controller {
    process: ProcessGroup,
    dir: PathBuf,
}

impl Controller {
    /// Why it is gone, if it is.
    pub(super) fn gone(&mut self) -> Option<String> {
        self.process.ended().map(|status| format!("brunt colocate run {} under load", describe_exit(status)))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.dir.join(LOG)
    }

    /// Ends it with its jobs and reads what it reports; the error is one line.
    fn finish(mut self, co_runner: &str) -> std::result::Result<Summary, String> {
        self.process.stop(STOP_TIMEOUT);
        match self.process.ended() {
            Some(status) if status.success() => {}
            Some(status) => return Err(format!("brunt colocate run {}", describe_exit(status))),
            None => return Err("brunt colocate run does not end".to_owned()),
        }
        let summary: Summary = Directory::open(self.dir.join(FOLDER))
            .read_json(SUMMARY)
            .map_err(|e| format!("brunt colocate run left no {SUMMARY}: {e}"))?;
        match summary.jobs {
            jobs if jobs.failed > 0 && jobs.done == 0 => {
                Err(format!("co-runner '{co_runner}' failed: its output is in {}", self.dir.join(FOLDER).display()))
            }
            _ => Ok(summary),
        }
    }
}

impl Drop for Controller {
    fn drop(&mut self) {
        self.process.stop(STOP_TIMEOUT);
    }
}

/// What runs beside the target during one load.
pub(super) struct Company<'a> {
    beside: Beside<'a>,
    pub(super) controller: Option<Controller>,
    unloaded: Option<Summary>,
}

/// Arguments of `brunt load` that write the counts of a load.
pub(super) fn counting_flags(dir: &Path, slo: &str) -> Vec<String> {
    ["--counts".to_owned(), dir.join(COUNTS).display().to_string(), "--slo".to_owned(), slo.to_owned()].into()
}

impl<'a> Company<'a> {
    /// The objective as typed, if there is a controller.
    pub(super) fn slo(&self) -> Option<&str> {
        self.controller.as_ref().map(|_| self.beside.colocation.slo.as_str())
    }

    /// Ends the jobs and records what they did.
    pub(super) fn finish(mut self, index: usize, dir: &Directory, result: &RunResult) -> Result<()> {
        let log = self.controller.as_ref().map_or(dir.path().join(TESTER_LOG), Controller::log);
        let name = &self.beside.co_runner.name;
        let summary = self.controller.take().map(|controller| controller.finish(name)).transpose();
        let summary = summary.map_err(|why| TrialError::failed(index, why, last_lines(&log, 3)))?;
        let seconds = fs::read(dir.path().join("latency.hlog")).ok();
        let seconds = seconds.and_then(|log| hlog::read(&log, "response").ok());
        let seconds = seconds.map(|log| bad_seconds(&log, result.load.measured_s, &self.beside.colocation.objective));
        let record =
            Colocated { seconds, summary, unloaded: self.unloaded.take(), is_complete: true, ..record(&self.beside) };
        Ok(dir.write_json(Colocated::FILE, &record)?)
    }
}

fn record(beside: &Beside) -> Colocated {
    Colocated {
        policy: beside.policy.to_owned(),
        co_runner: beside.co_runner.name.clone(),
        resource: beside.co_runner.resource.clone(),
        objective: beside.colocation.objective.clone(),
        peak: beside.colocation.peak.0,
        ..Colocated::default()
    }
}

/// Whole seconds of a window, and those in which more responses were slow than the objective allows or none came.
fn bad_seconds(log: &[hlog::Interval], measured_s: f64, objective: &Objective) -> Seconds {
    let limit_ns = (objective.limit_ms * 1e6) as u64;
    let is_good = |second: &&hlog::Interval| {
        let slow = second.values.total() - second.values.up_to(limit_ns);
        slow as f64 <= second.values.total() as f64 * objective.budget()
    };
    let all = (measured_s + 0.05).floor() as u64;
    // The last interval may be a part of a second.
    let good = log.iter().filter(|second| second.length_s > 0.5).filter(is_good).count() as u64;
    Seconds { all, bad: all.saturating_sub(good) }
}

impl TrialContext<'_> {
    /// Starts what the cell of that trial has beside the target; `None` if it has no policy.
    pub(super) fn company<'c>(
        &self,
        index: usize,
        cell: &'c Cell,
        beside: Beside<'c>,
        target: &mut ProcessGroup,
        tick: &mut dyn FnMut(&'static str),
    ) -> Result<Company<'c>> {
        let dir = &self.group.trials[index].dir;
        Directory::open(dir).write_json(Colocated::FILE, &record(&beside))?;
        if !cell.settings.has_jobs() {
            return Ok(Company { beside, controller: None, unloaded: None });
        }
        let unloaded = Some(self.unloaded(index, cell, beside, target, tick)?);
        let controller = Some(self.controller(index, cell, beside, dir, target)?);
        Ok(Company { beside, controller, unloaded })
    }

    /// What the co-runner does on these cores without a bound and without load on the target: measured once for each repeat.
    fn unloaded(
        &self,
        index: usize,
        cell: &Cell,
        beside: Beside,
        target: &mut ProcessGroup,
        tick: &mut dyn FnMut(&'static str),
    ) -> Result<Summary> {
        let store = RunDirectory::at(&self.runner.request.out);
        let dir = store.co_runner(&beside.co_runner.name, &jobs_cores(cell, beside).to_string(), self.group.repeat);
        if let Ok(summary) = Directory::open(&dir).read_json(SUMMARY) {
            return Ok(summary);
        }
        // A killed run may have left part of it.
        match fs::remove_dir_all(&dir) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(with_path(&dir)(e).into()),
            _ => Directory::create(&dir)?,
        };
        let mut controller = self.controller(index, cell, Beside { policy: NONE, ..beside }, &dir, target)?;
        let log = controller.log();
        let fail = |why: String| TrialError::failed(index, why, last_lines(&log, 3));
        let stopped = poll(cell.load_time(), every(20), || {
            tick("co-runner alone");
            if self.runner.stop.load(Ordering::Relaxed) {
                return Some(TrialError::Interrupted);
            }
            let target_gone = target.ended().map(|status| format!("the target {} without load", describe_exit(status)));
            controller.gone().or(target_gone).map(fail)
        });
        if let Some(error) = stopped {
            return Err(error);
        }
        let summary = controller.finish(&beside.co_runner.name).map_err(fail)?;
        Directory::open(&dir).write_json(SUMMARY, &summary)?;
        Ok(summary)
    }

    /// Starts the controller of this cell with its files in `dir`. It can give jobs only cores that it may use itself.
    fn controller(
        &self,
        index: usize,
        cell: &Cell,
        beside: Beside,
        dir: &Path,
        target: &ProcessGroup,
    ) -> Result<Controller> {
        let dir = std::path::absolute(dir)?;
        let (counts, out, file) = (dir.join(COUNTS), dir.join(FOLDER), dir.join(PLAN));
        let plan = ControllerPlan {
            policy: policy::shown(beside.policy),
            cores: jobs_cores(cell, beside).to_string(),
            warmup: cell.settings.warmup.to_string(),
            out: &out,
            service: Service {
                pid: target.pid(),
                peak: beside.colocation.peak.to_string(),
                slo: &beside.colocation.slo,
            },
            source: Source { file: &counts },
            job: [Job {
                command: self.words(&beside.co_runner.command)?,
                progress: beside.co_runner.progress.as_deref(),
                repeat: true,
            }],
        };
        let text = toml::to_string(&plan).map_err(|e| TrialError::failed(index, e.to_string(), Vec::new()))?;
        fs::write(&file, text).map_err(with_path(&file))?;
        File::create(&counts).map_err(with_path(&counts))?;
        let args = ["colocate".to_owned(), "run".to_owned(), file.display().to_string()];
        let launch = Launch {
            cores: Some(union(&cell.placement.client, jobs_cores(cell, beside))),
            ..Launch::new(
                self.runner.request.brunt.clone(),
                args.into(),
                File::create(dir.join(OUT))?,
                File::create(dir.join(LOG))?,
            )
        };
        let process = ProcessGroup::start(launch, self.runner.registry);
        let process = process.map_err(|e| TrialError::failed(index, e.to_string(), Vec::new()))?;
        self.started(index, Controller { process, dir })
    }

    /// Waits until the controller has begun its audit log: only then does it end properly.
    fn started(&self, index: usize, mut controller: Controller) -> Result<Controller> {
        let (audit, log) = (controller.dir.join(FOLDER).join(AUDIT), controller.log());
        let fail = |why: String| TrialError::failed(index, why, last_lines(&log, 3));
        let started = poll(START_TIMEOUT, every(5), || {
            if self.runner.stop.load(Ordering::Relaxed) {
                return Some(Err(TrialError::Interrupted));
            }
            match controller.process.ended() {
                Some(status) => Some(Err(fail(format!("brunt colocate run {}", describe_exit(status))))),
                None => audit.exists().then_some(Ok(())),
            }
        });
        let late = || Err(fail(format!("brunt colocate run did not start within {} s", START_TIMEOUT.as_secs())));
        started.unwrap_or_else(late).map(|()| controller)
    }
}

fn jobs_cores<'a>(cell: &'a Cell, beside: Beside<'a>) -> &'a Cores {
    beside.colocation.cores.as_ref().unwrap_or(&cell.placement.server)
}

fn union(one: &Cores, other: &Cores) -> Cores {
    Cores(one.0.iter().chain(&other.0).copied().collect::<BTreeSet<_>>().into_iter().collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::latency::new_histogram;
    use proptest::prelude::*;

    proptest! {
        /// Of each second: responses within the limit, and slow ones.
        #[test]
        fn a_second_is_bad_if_too_many_are_slow_or_none_came(
            seconds in proptest::collection::vec((0u64..2000, 0u64..40), 1..12)
        ) {
            let objective = Objective { figure: "p99".to_owned(), limit_ms: 6.0 };
            let mut log = Vec::new();
            for (at, (fast, slow)) in seconds.iter().enumerate().filter(|(_, (fast, slow))| fast + slow > 0) {
                let mut values = new_histogram();
                values.record_n(1_000_000, *fast).unwrap();
                values.record_n(9_000_000, *slow).unwrap();
                log.push(hlog::Interval { start_s: at as f64, length_s: 1.0, values: hlog::Counts::of(&values) });
            }
            let bad = seconds.iter().filter(|(fast, slow)| fast + slow == 0 || slow * 99 > *fast).count() as u64;
            let seen = bad_seconds(&log, seconds.len() as f64, &objective);
            prop_assert_eq!((seen.all, seen.bad), (seconds.len() as u64, bad));
        }
    }
}
