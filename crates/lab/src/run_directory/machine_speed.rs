//! Which trials ran while the machine was slower than it can be.
//!
//! A shared machine has slow spells of seconds to minutes. Before and after each trial a fixed piece of work is timed on
//! the trial's cores ([`brunt_meter::machine_speed`]); the fastest time of the experiment is the machine's own. A trial beside a time
//! that is much longer is `disturbed`, whatever its result was: the judgement never looks at what is measured.

use super::{Experiment, RunDirectory, TrialOutcome};
use crate::schedule::Cell;
use brunt_results::{
    RunResult,
    verdict::{Disturbance, ValidityIssue},
};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A pace below this, in percent of the best, disturbs a trial. Quiet machines stay within a few percent; the slow spells
/// of a virtual machine that shares its cores are at 70 to 85.
const SLOW_PERCENT: f64 = 90.0;

/// Microseconds of one piece of work on the cores of a trial, before it and after it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SpeedSample {
    /// Before the target was started.
    pub before_us: f64,
    /// After the target had ended.
    pub after_us: f64,
}

impl SpeedSample {
    fn worst(self) -> f64 {
        self.before_us.max(self.after_us)
    }
}

/// The fastest time for each set of cores.
#[derive(Debug, Clone, Default)]
pub struct SpeedBaseline {
    best_us: BTreeMap<String, f64>,
}

impl SpeedBaseline {
    /// Of all trials in the directory, those set aside included.
    pub fn of(store: &RunDirectory, experiment: &Experiment) -> Self {
        let mut paces = Self::default();
        for cell in &experiment.cells.run {
            for pace in store.records(&cell.id).into_iter().filter_map(|record| record.speed) {
                paces.learn(cell, pace);
            }
        }
        paces
    }

    /// Takes a trial's times into account.
    pub fn learn(&mut self, cell: &Cell, pace: SpeedSample) {
        let best = self.best_us.entry(cores(cell)).or_insert(f64::INFINITY);
        *best = best.min(pace.before_us).min(pace.after_us);
    }

    /// How fast the machine was during the trial, in percent of its best.
    pub fn percent(&self, cell: &Cell, pace: SpeedSample) -> f64 {
        self.best_us.get(&cores(cell)).map_or(100.0, |best| best / pace.worst() * 100.0)
    }

    /// Adds to a result's verdict what the pace says of it.
    pub fn judge(&self, cell: &Cell, pace: Option<SpeedSample>, result: &mut RunResult) {
        let Some(percent) = pace.map(|pace| self.percent(cell, pace)) else { return };
        if percent < SLOW_PERCENT {
            result.verdict.add(&ValidityIssue::Disturbed(Disturbance::SlowMachine { percent }));
        }
    }

    /// What the directory keeps of a trial, judged.
    pub fn outcome(&self, store: &RunDirectory, cell: &Cell, repeat: u32) -> Option<TrialOutcome> {
        let mut kept = store.outcome(&cell.id, repeat)?;
        if let TrialOutcome::Done(result) = &mut kept {
            self.judge(cell, store.record(&cell.id, repeat).and_then(|record| record.speed), result);
        }
        Some(kept)
    }
}

fn cores(cell: &Cell) -> String {
    format!("{}+{}", cell.placement.server, cell.placement.client)
}

/// Of two attempts, whether the first ran at the better pace. One without a pace is the worse one.
pub fn is_better(one: Option<SpeedSample>, other: Option<SpeedSample>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.worst() < other.worst(),
        (one, _) => one.is_some(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        plan::read,
        schedule::{Machine, cells},
    };
    use brunt_results::verdict::Kind;
    use std::collections::BTreeMap;

    #[test]
    fn a_trial_beside_a_slow_spell_is_disturbed_and_one_at_the_usual_pace_is_not() {
        let plan =
            read("p", "name = 'p'\n[load]\nconnections = 1\n[[target]]\nname = 't'\ncommand = ['s', '{port}']\n");
        let cells = cells(&plan.unwrap(), &Machine { cores: vec![0, 1] }, &BTreeMap::new()).run;
        let pace = |before_us, after_us| SpeedSample { before_us, after_us };
        let mut paces = SpeedBaseline::default();
        [pace(6.7, 6.6), pace(6.6, 9.1), pace(7.0, 7.2)].into_iter().for_each(|pace| paces.learn(&cells[0], pace));
        let kind = |pace| {
            let mut result = RunResult::new("test");
            paces.judge(&cells[0], pace, &mut result);
            (result.verdict.kind, result.verdict.why.len())
        };
        assert_eq!(kind(Some(pace(6.7, 6.6))), (Kind::Ok, 0));
        assert_eq!(kind(Some(pace(7.0, 7.2))), (Kind::Ok, 0));
        assert_eq!(kind(Some(pace(6.6, 9.1))), (Kind::Disturbed, 1));
        assert_eq!(kind(None), (Kind::Ok, 0));
        assert!(is_better(Some(pace(6.6, 6.7)), Some(pace(6.6, 9.1))));
        assert!(is_better(Some(pace(9.0, 9.0)), None) && !is_better(None, None));
    }
}
