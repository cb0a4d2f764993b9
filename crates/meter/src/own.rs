//! Threads of this very process: what the generator itself spends on a request, and whether others took its cores.
//!
//! Only the named threads count, not the one that watches them.

use crate::{
    counters::{Counters, Event, Reading},
    threads::{self, ThreadTimes},
};
use std::time::Instant;

/// Watches some threads of this process.
#[derive(Debug)]
pub struct OwnMeter {
    threads: Vec<u32>,
    counters: Counters,
    first: Option<Look>,
    last: Option<Look>,
}

#[derive(Debug)]
struct Look {
    at: Instant,
    counted: Reading,
    times: ThreadTimes,
}

impl OwnMeter {
    /// Attaches to these thread ids.
    pub fn attach(threads: &[u32]) -> Self {
        let counters = Counters::attach_threads(threads, &[Event::InstructionsUser]);
        Self { threads: threads.to_vec(), counters, first: None, last: None }
    }

    /// Opens the measured window now.
    pub fn open(&mut self) {
        self.first = Some(self.look());
        self.last = None;
    }

    /// Ends the measured window now.
    pub fn stop(&mut self) {
        self.last = Some(self.look());
    }

    fn look(&mut self) -> Look {
        let me = std::process::id();
        let times = self.threads.iter().filter_map(|tid| Some((*tid, threads::of(me, *tid)?))).collect();
        Look { at: Instant::now(), counted: self.counters.read(), times }
    }

    /// How long the thread that waited most was ready to run and had no core, in percent of the window; absent where
    /// the kernel keeps no account of it.
    pub fn run_queue_wait_percent(&self) -> Option<f64> {
        let (first, last) = (self.first.as_ref()?, self.last.as_ref()?);
        let waits = threads::used(&first.times, &last.times).map(|(_, times)| times.wait);
        let longest = waits.collect::<Option<Vec<_>>>()?.into_iter().max()?;
        Some(longest as f64 / last.at.duration_since(first.at).as_nanos().max(1) as f64 * 100.0)
    }

    /// User instructions for each of `completed` requests.
    ///
    /// # Errors
    /// The reason why the figure is absent.
    pub fn instructions_per_request(&self, completed: u64) -> Result<f64, String> {
        match (&self.first, &self.last) {
            (Some(_), Some(_)) if completed == 0 => Err("no request completed".to_owned()),
            (Some(first), Some(last)) => {
                Ok(last.counted.since(&first.counted, Event::InstructionsUser)? / completed as f64)
            }
            _ => Err("the measured window never opened".to_owned()),
        }
    }
}
