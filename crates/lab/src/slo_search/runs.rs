//! Whole runs at alternating rates: of a tester, each on a target that is started anew, or of several machines.

use super::bounds::{Bound, RUNS, Sample, run};
use super::search::{Effort, Search};
use super::step::{Step, all_failed, of_run};
use super::whole::{WholeLoad, WholeLoads};
use super::{Context, Sampler};
use crate::schedule::shuffle;
use brunt_results::{Error, Rate};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Runs at a rate before it counts as held or broken.
const SAMPLES: usize = 2;
/// Rates tried at once between the ends of the bracket.
const BETWEEN: usize = 2;

pub(super) struct Runs<'a> {
    context: Context<'a>,
    loads: &'a dyn WholeLoads,
    steps_dir: PathBuf,
    random: Xoshiro256PlusPlus,
    steps: Vec<Step>,
    rounds: u64,
}

pub(super) fn effort(context: &Context) -> Effort {
    context.effort(SAMPLES, BETWEEN)
}

pub(super) fn bounds_of() -> Vec<Bound> {
    vec![RUNS]
}

impl<'a> Runs<'a> {
    pub(super) fn new(context: Context<'a>, loads: &'a dyn WholeLoads, steps_dir: &Path) -> Self {
        let random = Xoshiro256PlusPlus::seed_from_u64(context.request.seed);
        Self { context, loads, steps_dir: steps_dir.to_owned(), random, steps: Vec::new(), rounds: 0 }
    }

    fn load(&mut self, rate: f64, seed: u64) -> Result<Option<Step>, Error> {
        let request = self.context.request;
        let number = self.steps.len() + 1;
        let dir = self.steps_dir.join(format!("{number:02}-rate={}", Rate(rate)));
        let name = format!("the load of {} requests/s", Rate(rate));
        let load = WholeLoad { number, rate, window: self.window(rate), seed, dir: &dir };
        let failed = |error: Error| Error::Failed(format!("{name}: {error}"));
        let result = self.loads.load(&load, self.context.registry, self.context.stop).map_err(failed)?;
        let Some(mut result) = result.filter(|result| !result.interrupted) else { return Ok(None) };
        if let Some(how) = all_failed(&result) {
            let place = dir.display();
            return Err(Error::Failed(format!(
                "every request of {name} failed ({how}), so no other rate is tried: {place}"
            )));
        }
        if request.source.starts_at_send() {
            result.latency.response = result.latency.service.clone();
        }
        if let Some((tester, missing)) = request.source.tester().zip(request.slo.unrecorded(&result)) {
            let name = tester.name;
            return Err(Error::Failed(format!(
                "{name} did not report the figure of {missing}: use another, or tester brunt"
            )));
        }
        Ok(Some(of_run(request, dir, rate, &result)))
    }

    /// The window, extended to the requests that the SLO's percentiles need.
    fn window(&self, rate: f64) -> Duration {
        let request = self.context.request;
        let needed = request.slo.min_requests() as f64 / rate * 1.1;
        // Whole milliseconds, for a readable command line.
        request.step.0.max(Duration::from_millis((needed * 1e3).ceil() as u64))
    }
}

impl Sampler for Runs<'_> {
    fn round(&mut self, rates: &[f64]) -> Result<Option<Vec<Sample>>, Error> {
        let seed = self.context.request.seed.wrapping_add(self.rounds);
        self.rounds += 1;
        let mut order = rates.to_vec();
        shuffle(&mut order, &mut self.random);
        let mut samples = Vec::new();
        for rate in order {
            let Some(step) = self.load(rate, seed)? else { return Ok(None) };
            samples.push(run(rate, self.window(rate).as_secs_f64(), step.outcome.holds()));
            self.steps.push(step);
            if self.context.stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
        }
        Ok(Some(samples))
    }

    fn steps(&mut self, search: &Search, _: &Path) -> Result<Vec<Step>, Error> {
        let confirmed = |step: Step| Step { confirms: search.is_confirmed(step.rate), ..step };
        Ok(self.steps.iter().cloned().map(confirmed).collect())
    }

    fn doubts(&self, _: &Search) -> Vec<String> {
        let causes = self.steps.iter().flat_map(|step| &step.remedy);
        let causes: Vec<&String> = crate::group::distinct(causes);
        causes.into_iter().map(|remedy| format!("some runs were disturbed: {remedy}")).collect()
    }
}
