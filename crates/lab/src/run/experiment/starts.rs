//! What the order of an experiment needs of its starts, so that tests can say what they do and how long they take.

use crate::run::sliced::SlicedStart;
use crate::run::trial::{Tick, TrialGroup, TrialRunner, TrialStatus};
use brunt_results::regime::Regime;
use std::{io, time::Duration};

/// Makes the trials of starts.
pub(super) trait Starts {
    /// Of one target; returns how each trial ended.
    fn trials(&self, runner: &TrialRunner, group: &TrialGroup, tick: &mut Tick) -> io::Result<Vec<TrialStatus>>;

    /// Of all targets of a load, which take turns; also returns the time that the slices took.
    fn slices(&self, start: &SlicedStart, tick: &mut dyn FnMut(&str)) -> io::Result<(Vec<TrialStatus>, Duration)>;

    /// What CPU time contains on this core.
    fn regime(&self, core: usize) -> Option<Regime>;
}

/// Targets and testers are processes.
pub(super) struct Processes;

impl Starts for Processes {
    fn trials(&self, runner: &TrialRunner, group: &TrialGroup, tick: &mut Tick) -> io::Result<Vec<TrialStatus>> {
        runner.run(group, tick)
    }

    fn slices(&self, start: &SlicedStart, tick: &mut dyn FnMut(&str)) -> io::Result<(Vec<TrialStatus>, Duration)> {
        start.run(tick)
    }

    fn regime(&self, core: usize) -> Option<Regime> {
        brunt_meter::regime::measure(core, Duration::from_secs(1)).ok()
    }
}
