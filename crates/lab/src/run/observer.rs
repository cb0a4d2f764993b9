//! What happens during an experiment, for whoever shows it. The experiment itself prints nothing.

use crate::{run::trial::TrialStatus, schedule::Cell};
use std::time::Duration;

/// Is told what happens, on the thread that runs the experiment; must return at once.
pub trait Observer {
    /// Something happened.
    fn on_event(&mut self, event: &Event<'_>);
}

/// Watches nothing.
#[derive(Debug, Default)]
pub struct NoObserver;

impl Observer for NoObserver {
    fn on_event(&mut self, _: &Event<'_>) {}
}

impl<A: Observer, B: Observer> Observer for (A, B) {
    fn on_event(&mut self, event: &Event<'_>) {
        self.0.on_event(event);
        self.1.on_event(event);
    }
}

/// Which trial, of how many, and how long the rest will take.
#[derive(Debug, Clone, Copy)]
pub struct TrialProgress<'a> {
    /// Counted from 1, trials of an earlier invocation included.
    pub number: usize,
    /// All trials of the experiment.
    pub total: usize,
    /// The cell.
    pub cell: &'a Cell,
    /// The repeat, counted from 1.
    pub repeat: u32,
    /// Time left for the experiment, this trial included where it is not over.
    pub left: Duration,
}

/// What can happen.
#[derive(Debug)]
pub enum Event<'a> {
    /// Processes that an earlier, killed run had left were ended.
    OrphansKilled(usize),
    /// A target is being built.
    Building {
        /// Its name.
        target: &'a str,
        /// The command.
        command: String,
    },
    /// A target could not be built; its trials will be recorded as failed.
    BuildFailed {
        /// Its name.
        target: &'a str,
        /// Why.
        why: &'a str,
    },
    /// That many trials were disturbed and are run again.
    Retrying(usize),
    /// A trial begins.
    TrialStarted(TrialProgress<'a>),
    /// A trial runs; sent a few times a second.
    TrialRunning {
        /// Which.
        place: TrialProgress<'a>,
        /// What it is doing now.
        what: &'static str,
    },
    /// A trial is over.
    TrialFinished {
        /// Which.
        place: TrialProgress<'a>,
        /// How.
        end: &'a TrialStatus,
        /// How long it took.
        took: Duration,
    },
}
