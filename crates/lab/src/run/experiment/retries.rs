//! Disturbed trials are run again; the less disturbed attempt counts.

use super::{Runner, Start};
use crate::Error;
use crate::run::Event;
use crate::run_directory::disturbance::Disturbance;
use crate::run_directory::machine_speed::SpeedBaseline;
use crate::run_directory::{RunDirectory, TrialOutcome};
use crate::schedule::ScheduledTrial;
use brunt_results::verdict::Kind;
use std::path::PathBuf;

impl<'a> Runner<'a> {
    /// Runs disturbed trials again, as often as the plan allows; false if the user stopped the run.
    pub(super) fn retry_disturbed(&mut self) -> Result<bool, Error> {
        for _ in 0..self.request.plan.retries {
            let disturbed = self.disturbed()?;
            if disturbed.is_empty() {
                break;
            }
            self.observer.on_event(&Event::Retrying(disturbed.iter().map(|(_, start)| start.len()).sum()));
            for done in 0..disturbed.len() {
                if !self.retry(&disturbed[done..])? {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }

    /// The disturbed trials that may be run again, with those that share their start.
    fn disturbed(&self) -> Result<Vec<Start<'a>>, Error> {
        let Some(experiment) = self.run_dir.experiment()? else { return Ok(Vec::new()) };
        let baseline = SpeedBaseline::of(self.run_dir, &experiment);
        let is_fine = |trial: &ScheduledTrial| {
            let cell = self.schedule.cell(*trial);
            let outcome = baseline.outcome(self.run_dir, cell, trial.repeat);
            !matches!(outcome, Some(TrialOutcome::Done(result)) if result.verdict.kind == Kind::Disturbed)
                || self.run_dir.archived_attempts(cell.id(), trial.repeat) >= self.request.plan.retries
        };
        Ok(self.schedule.todo(is_fine))
    }

    /// Runs the trials of the first of these starts again; false if the user stopped the run.
    ///
    /// The less disturbed attempt counts, the other is archived. Phases of one start stay together.
    fn retry(&mut self, rest: &[Start]) -> Result<bool, Error> {
        let trials = rest[0].1;
        let name = |trial: &ScheduledTrial| (self.schedule.cell(*trial).id(), trial.repeat);
        for (cell, repeat) in trials.iter().map(name) {
            self.run_dir.archive_attempt(cell, repeat)?;
        }
        let completed = self.run_next(rest)?;
        if !self.is_less_disturbed(trials)? {
            for (cell, repeat) in trials.iter().map(name) {
                self.run_dir.swap_archived(cell, repeat)?;
            }
        }
        Ok(completed)
    }

    /// Whether all of these trials have a result, and were disturbed less than in the last archived attempt.
    fn is_less_disturbed(&self, trials: &[ScheduledTrial]) -> Result<bool, Error> {
        let is_done = |trial: &ScheduledTrial| self.run_dir.is_done(self.schedule.cell(*trial).id(), trial.repeat);
        let Some(experiment) = self.run_dir.experiment()?.filter(|_| trials.iter().all(is_done)) else {
            return Ok(false);
        };
        let baseline = SpeedBaseline::of(self.run_dir, &experiment);
        let disturbance = |dir: fn(&RunDirectory, &str, u32) -> PathBuf| {
            let of = |trial: &ScheduledTrial| {
                let cell = self.schedule.cell(*trial);
                Disturbance::read(&dir(self.run_dir, cell.id(), trial.repeat), cell, &baseline)
            };
            trials.iter().filter_map(of).reduce(Disturbance::worse).unwrap_or_default()
        };
        Ok(disturbance(RunDirectory::trial).is_less_than(disturbance(RunDirectory::last_archived)))
    }
}
