//! Instructions of threads of this very process: what the generator itself spends on a request.
//!
//! Only the named threads count, not the one that watches them.

use crate::counters::{Counters, Event, Reading};

/// Counts user instructions of some threads of this process.
#[derive(Debug)]
pub struct OwnMeter {
    counters: Counters,
    first: Option<Reading>,
    last: Option<Reading>,
}

impl OwnMeter {
    /// Attaches to these thread ids.
    pub fn attach(threads: &[u32]) -> Self {
        Self { counters: Counters::attach_threads(threads, &[Event::InstructionsUser]), first: None, last: None }
    }

    /// Opens the measured window now.
    pub fn open(&mut self) {
        self.first = Some(self.counters.read());
        self.last = None;
    }

    /// Ends the measured window now.
    pub fn stop(&mut self) {
        self.last = Some(self.counters.read());
    }

    /// User instructions for each of `completed` requests.
    ///
    /// # Errors
    /// The reason why the figure is absent.
    pub fn instructions_per_request(&self, completed: u64) -> Result<f64, String> {
        match (&self.first, &self.last) {
            (Some(_), Some(_)) if completed == 0 => Err("no request completed".to_owned()),
            (Some(first), Some(last)) => Ok(last.since(first, Event::InstructionsUser)? / completed as f64),
            _ => Err("the measured window never opened".to_owned()),
        }
    }
}
