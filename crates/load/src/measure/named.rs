//! Figures of each named part of a load, such as a URL: its own counts and response times of the window.
//!
//! The names are numbered; [`Scheduler`](crate::engine::scheduler::Scheduler) keeps the number of each request in flight.
//! Unlike the intervals of the whole load they are not kept by second, and are sent once, at the end.

use super::{histogram::RawHistogram, recorder::Failure};
use brunt_results::latency::new_histogram;
use brunt_results::result::{Errors, Named};
use brunt_results::{LatencySummary, Percentile};
use serde::{Deserialize, Serialize};

/// What one load thread, or all of them, recorded of one name.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Part {
    completed: u64,
    failed: u64,
    errors: Errors,
    /// By the same rules as that of the whole load.
    response: RawHistogram,
}

impl Part {
    pub fn add(&mut self, mut other: Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.errors.add(&other.errors);
        self.response.saturated += other.response.saturated;
        self.response.add(&other.response.take());
    }

    /// Over a window of `measured_s` seconds.
    pub fn figures(mut self, name: &str, measured_s: f64, percentiles: &[Percentile]) -> Named {
        let mut histogram = new_histogram();
        self.response.merge_into(&mut histogram);
        let mut response = LatencySummary::of(&histogram);
        response.add(percentiles, &histogram);
        Named {
            name: name.to_owned(),
            completed: self.completed,
            failed: self.failed,
            rate: if measured_s > 0.0 { self.completed as f64 / measured_s } else { 0.0 },
            errors: self.errors,
            response,
        }
    }
}

/// The parts of one load thread.
#[derive(Debug, Default)]
pub struct Parts {
    /// By number of the name; empty if nothing is named.
    all: Vec<Part>,
    /// The name of the request whose end is recorded next.
    pub current: Option<u16>,
}

impl Parts {
    pub fn new(names: usize) -> Self {
        Self { all: std::iter::repeat_with(Part::default).take(names).collect(), current: None }
    }

    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    pub fn take(&mut self) -> Vec<Part> {
        std::mem::take(&mut self.all)
    }

    fn part(&mut self) -> Option<&mut Part> {
        self.all.get_mut(usize::from(self.current?))
    }

    /// A correct reply in the window; its response time, if that counts.
    pub fn completed(&mut self, response_ns: Option<u64>) {
        let Some(part) = self.part() else { return };
        part.completed += 1;
        response_ns.into_iter().for_each(|ns| part.response.record(ns));
    }

    /// A failure in the window; its response time, if that counts.
    pub fn failed(&mut self, failure: Failure, response_ns: Option<u64>) {
        let Some(part) = self.part() else { return };
        part.failed += 1;
        *failure.count_in(&mut part.errors) += 1;
        response_ns.into_iter().for_each(|ns| part.response.record(ns));
    }

    /// The response time of a request that the end of the window left unanswered.
    pub fn late(&mut self, response_ns: u64) {
        let Some(part) = self.part() else { return };
        part.response.record(response_ns);
    }
}
