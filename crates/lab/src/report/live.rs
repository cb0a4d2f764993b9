//! The page of a run that goes on: written anew after trials, but never so often that this takes time of the run that
//! matters, and never during a trial.

use crate::{report, store::Store};
use std::time::{Duration, Instant};

/// At least so long between two pages.
const LEAST: Duration = Duration::from_secs(2);
/// And at least so many times what the last one took: 2 % of the run.
const RARELY: u32 = 50;

/// Writes it.
#[derive(Debug)]
pub(crate) struct Live {
    /// When the next one is due.
    next: Instant,
}

impl Live {
    /// The first trial's end is worth a page.
    pub(crate) fn new() -> Self {
        Self { next: Instant::now() }
    }

    /// Writes the page if it is time. What goes wrong with it is no reason to end a run; its last page tells.
    pub(crate) fn saw_end(&mut self, store: &Store) {
        let now = Instant::now();
        if now < self.next {
            return;
        }
        let _ = report::read(store.path())
            .and_then(|report| report::page(&report, store, true))
            .and_then(|page| store.write_page(&page));
        self.next = Instant::now() + (now.elapsed() * RARELY).max(LEAST);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::{Experiment, SCHEMA};
    use std::fs;

    #[test]
    fn pages_of_a_run_that_goes_on_are_written_but_not_one_after_the_other() {
        let home = tempfile::tempdir().unwrap();
        let store = Store::at(home.path().join("run"));
        let _lock = store.open().unwrap();
        let mut live = Live::new();
        // Nothing is planned yet, which is no reason to fail.
        live.saw_end(&store);
        let experiment = Experiment { schema: SCHEMA.into(), name: "x".into(), ..Experiment::default() };
        store.begin(&experiment, "plan").unwrap();
        let place = store.path().join(report::FILE);
        live = Live::new();
        live.saw_end(&store);
        assert!(fs::read_to_string(&place).unwrap().contains("\"isRunning\":true"));
        fs::remove_file(&place).unwrap();
        live.saw_end(&store);
        assert!(!place.exists());
    }
}
