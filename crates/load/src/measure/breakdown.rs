//! Figures of parts of a load in the window: of each name, such as a URL, and of each step of an offered rate that changes.
//!
//! The names are numbered, those of a script as it gives them; [`Scheduler`](crate::engine::scheduler::Scheduler) keeps the number of each request in flight. The
//! step follows from a request's intended time. Unlike the intervals of the whole load, parts are not kept by second, and are
//! sent once, at the end.

use super::{failure::Failure, histogram::RawHistogram};
use crate::schedule::Step;
use brunt_results::latency::new_histogram;
use brunt_results::result::{Errors, PartFigures};
use brunt_results::{LatencySummary, Percentile};
use serde::{Deserialize, Serialize};

/// What one load thread, or all of them, recorded of one part.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Part {
    completed: u64,
    failed: u64,
    errors: Errors,
    /// By the same rules as that of the whole load.
    response: RawHistogram,
    censored: Option<RawHistogram>,
}

impl Part {
    pub fn add(&mut self, mut other: Self) {
        self.completed += other.completed;
        self.failed += other.failed;
        self.errors.add(&other.errors);
        self.response.saturated += other.response.saturated;
        self.response.add(&other.response.take());
        if let Some(mut waits) = other.censored {
            self.censored.get_or_insert_default().add(&waits.take());
        }
    }

    /// Over `seconds` of the window.
    pub fn figures(mut self, seconds: f64, percentiles: &[Percentile]) -> PartFigures {
        let mut answered = new_histogram();
        self.response.merge_into(&mut answered);
        let censored = self.censored.map(|mut waits| {
            let mut histogram = new_histogram();
            waits.merge_into(&mut histogram);
            histogram
        });
        PartFigures {
            completed: self.completed,
            failed: self.failed,
            rate: if seconds > 0.0 { self.completed as f64 / seconds } else { 0.0 },
            errors: self.errors,
            response: LatencySummary::censored(percentiles, &answered, censored.as_ref()),
        }
    }
}

/// The parts of one load thread, or of all of them, by number.
#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Parts {
    pub names: Vec<Part>,
    pub steps: Vec<Part>,
}

impl Parts {
    /// Empty parts for as many names and steps.
    pub fn new(names: usize, steps: usize) -> Self {
        let [names, steps] = [names, steps].map(|count| std::iter::repeat_with(Part::default).take(count).collect());
        Self { names, steps }
    }

    /// `count` requests that were due so long after the start of the window, and were never sent, have waited until its end.
    pub fn never_sent(&mut self, steps: &[Step], since_open_ns: u64, waited_ns: u64, count: u64) {
        let step = steps.partition_point(|step| step.end.as_nanos() as u64 <= since_open_ns);
        if let Some(part) = self.steps.get_mut(step) {
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            part.censored.get_or_insert_default().record_n(waited_ns, count);
        }
    }

    /// The same, whose names have other numbers.
    pub fn renumbered(self, number: impl Fn(usize) -> usize) -> Self {
        let mut names: Vec<Part> = Vec::new();
        for (old, part) in self.names.into_iter().enumerate() {
            let new = number(old);
            names.resize_with(names.len().max(new + 1), Part::default);
            names[new].add(part);
        }
        Self { names, steps: self.steps }
    }

    pub fn add(&mut self, other: Self) {
        self.names.resize_with(self.names.len().max(other.names.len()), Part::default);
        self.names.iter_mut().zip(other.names).for_each(|(all, part)| all.add(part));
        self.steps.iter_mut().zip(other.steps).for_each(|(all, part)| all.add(part));
    }
}

/// Records parts on one load thread.
#[derive(Debug, Default)]
pub struct Breakdown {
    parts: Parts,
    /// The name of the request whose end is recorded next.
    pub name: Option<u16>,
    is_named: bool,
    /// Ends of the steps, in nanoseconds after the start of the window.
    ends_ns: Vec<u64>,
    open_ns: u64,
}

impl Breakdown {
    pub fn new(names: usize, steps: &[Step]) -> Self {
        let ends_ns = steps.iter().map(|step| step.end.as_nanos() as u64).collect();
        Self { parts: Parts::new(names, steps.len()), name: None, is_named: names > 0, ends_ns, open_ns: u64::MAX }
    }

    /// Sets the start of the window.
    pub fn begin(&mut self, open_ns: u64) {
        self.open_ns = open_ns;
    }

    /// Whether there is nothing to record.
    pub fn is_empty(&self) -> bool {
        !self.is_named && self.ends_ns.is_empty()
    }

    /// Requests have names from now on.
    pub fn begin_names(&mut self) {
        self.is_named = true;
    }

    pub fn take(&mut self) -> Parts {
        std::mem::take(&mut self.parts)
    }

    /// The parts of a request.
    fn of(&mut self, intended_ns: u64) -> impl Iterator<Item = &mut Part> {
        let since_open = intended_ns.checked_sub(self.open_ns);
        let step = since_open.map(|since| self.ends_ns.partition_point(|end| *end <= since));
        let name = self.name.map(usize::from);
        let Parts { names, steps } = &mut self.parts;
        if let Some(name) = name.filter(|name| *name >= names.len()) {
            names.resize_with(name + 1, Part::default);
        }
        name.and_then(|name| names.get_mut(name)).into_iter().chain(step.and_then(|step| steps.get_mut(step)))
    }

    /// A correct reply in the window; its response time, if that counts.
    pub fn completed(&mut self, intended_ns: u64, response_ns: Option<u64>) {
        self.of(intended_ns).for_each(|part| {
            part.completed += 1;
            response_ns.into_iter().for_each(|ns| part.response.record(ns));
        });
    }

    /// A failure in the window; how long it has waited, if it has no complete reply and that counts.
    pub fn failed(&mut self, intended_ns: u64, failure: Failure, waited_ns: Option<u64>) {
        self.of(intended_ns).for_each(|part| {
            part.failed += 1;
            *failure.count_in(&mut part.errors) += 1;
        });
        waited_ns.into_iter().for_each(|ns| self.censored(intended_ns, ns));
    }

    /// How long a request has waited that gets no complete reply.
    pub fn censored(&mut self, intended_ns: u64, waited_ns: u64) {
        self.of(intended_ns).for_each(|part| part.censored.get_or_insert_default().record(waited_ns));
    }

    /// The response time of a request that is answered after the window.
    pub fn late(&mut self, intended_ns: u64, response_ns: u64) {
        self.of(intended_ns).for_each(|part| part.response.record(response_ns));
    }
}
