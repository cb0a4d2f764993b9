//! The HTML page during a run: rewritten between trials, at most 2 % of the time.

use crate::clock;
use crate::report;
use crate::run::{Event, Observer};
use crate::run_directory::RunDirectory;
use std::time::{Duration, Instant};

const LEAST: Duration = Duration::from_secs(2);
/// Shortest interval as a multiple of the time the last page took.
const RARELY: u32 = 50;

#[derive(Debug)]
pub struct LivePage {
    store: RunDirectory,
    next: Instant,
}

impl LivePage {
    /// Writes into this run directory, first after the first trial.
    pub fn new(store: RunDirectory) -> Self {
        Self { store, next: clock::now() }
    }

    /// Writes the page if it is due. Errors are ignored: the final page reports them.
    fn write(&mut self) {
        let now = clock::now();
        if now < self.next {
            return;
        }
        let _ = report::read(self.store.path())
            .and_then(|report| report::page(&report, &self.store, true))
            .and_then(|page| self.store.write_page(&page));
        self.next = clock::now() + (clock::since(now) * RARELY).max(LEAST);
    }
}

impl Observer for LivePage {
    fn on_event(&mut self, event: &Event<'_>) {
        if let Event::TrialFinished { .. } = event {
            self.write();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run_directory::{Experiment, PAGE_FILE, SCHEMA};
    use std::fs;

    #[test]
    fn pages_of_a_run_that_goes_on_are_written_but_not_one_after_the_other() {
        let home = tempfile::tempdir().unwrap();
        let store = RunDirectory::at(home.path().join("run"));
        let _lock = store.open().unwrap();
        let mut live = LivePage::new(store.clone());
        // Without a plan nothing is written, and nothing fails.
        live.write();
        let experiment = Experiment { schema: SCHEMA.into(), name: "x".into(), ..Experiment::default() };
        store.begin(&experiment, "plan").unwrap();
        let place = store.path().join(PAGE_FILE);
        live = LivePage::new(store.clone());
        live.write();
        assert!(fs::read_to_string(&place).unwrap().contains("\"isRunning\":true"));
        fs::remove_file(&place).unwrap();
        live.write();
        assert!(!place.exists());
    }
}
