//! Detects trials that ran while the machine was slower than it can be.
//!
//! A shared machine has slow spells of seconds to minutes. A fixed piece of work is timed on the trial's cores before and
//! after each trial ([`brunt_meter::machine_speed`]); the fastest time of the experiment is the machine's own speed. A trial
//! beside a much longer time is `disturbed`, whatever its result: the judgement never depends on what is measured.

use super::{Experiment, RunDirectory, TrialOutcome, records::SpeedSample};
use crate::schedule::Cell;
use brunt_results::{RunResult, ValidityIssue};
use std::collections::BTreeMap;

/// A speed below this percentage of the best disturbs a trial. Quiet machines stay within a few percent; slow spells of
/// virtual machines on shared cores are at 70 to 85.
pub const SLOW_PERCENT: f64 = 90.0;

/// The fastest time for each set of cores.
#[derive(Debug, Clone, Default)]
pub struct SpeedBaseline {
    best_us: BTreeMap<String, f64>,
}

impl SpeedBaseline {
    /// From all trials of a run directory, archived ones included.
    pub fn of(run_dir: &RunDirectory, experiment: &Experiment) -> Self {
        let mut baseline = Self::default();
        for cell in &experiment.cells.run {
            for speed in run_dir.records(cell.id()).into_iter().filter_map(|record| record.speed) {
                baseline.add(cell, speed);
            }
        }
        baseline
    }

    pub fn add(&mut self, cell: &Cell, speed: SpeedSample) {
        let best = self.best_us.entry(cores(cell)).or_insert(f64::INFINITY);
        *best = best.min(speed.before_us).min(speed.after_us);
    }

    /// Speed of the machine beside the trial, in percent of its best.
    pub fn percent(&self, cell: &Cell, speed: SpeedSample) -> f64 {
        self.best_us.get(&cores(cell)).map_or(100.0, |best| best / speed.worst() * 100.0)
    }

    /// Adds to a result's verdict that the machine was slow, if it was.
    pub fn judge(&self, cell: &Cell, speed: Option<SpeedSample>, result: &mut RunResult) {
        let Some(percent) = speed.map(|speed| self.percent(cell, speed)) else { return };
        if percent < SLOW_PERCENT {
            result.verdict.add(&ValidityIssue::SlowMachine { percent });
        }
    }

    pub fn outcome(&self, run_dir: &RunDirectory, cell: &Cell, repeat: u32) -> Option<TrialOutcome> {
        let mut outcome = run_dir.outcome(cell.id(), repeat)?;
        if let TrialOutcome::Done(result) = &mut outcome {
            self.judge(cell, run_dir.record(cell.id(), repeat).and_then(|record| record.speed), result);
        }
        Some(outcome)
    }
}

fn cores(cell: &Cell) -> String {
    format!("{}+{}", cell.placement.server, cell.placement.client)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::read;
    use crate::schedule::{Machine, cells};
    use brunt_results::verdict::Kind;

    #[test]
    fn a_trial_in_a_slow_spell_is_disturbed() {
        let plan =
            read("p", "name = 'p'\n[load]\nconnections = 1\n[[target]]\nname = 't'\ncommand = ['s', '{port}']\n");
        let cells = cells(&plan.unwrap(), &Machine { cores: vec![0, 1] }, &BTreeMap::new()).run;
        let sample = |before_us, after_us| SpeedSample { before_us, after_us };
        let mut baseline = SpeedBaseline::default();
        for sample in [sample(6.7, 6.6), sample(6.6, 9.1), sample(7.0, 7.2)] {
            baseline.add(&cells[0], sample);
        }
        let kind = |speed| {
            let mut result = RunResult::new("test");
            baseline.judge(&cells[0], speed, &mut result);
            (result.verdict.kind, result.verdict.why.len())
        };
        let kinds = [Some(sample(6.7, 6.6)), Some(sample(7.0, 7.2)), Some(sample(6.6, 9.1)), None].map(kind);
        assert_eq!(kinds, [(Kind::Ok, 0), (Kind::Ok, 0), (Kind::Disturbed, 1), (Kind::Ok, 0)]);
    }
}
