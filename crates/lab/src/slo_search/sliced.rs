//! Slices at alternating rates on a target that stays up with its connections open.

use super::bounds::{Bound, Sample, bounds, parts};
use super::search::{Effort, Search};
use super::step::{Step, all_failed, of_rate};
use super::{Context, Sampler};
use crate::run::single::{Gone, write_slices};
use crate::slices::participant::Participant;
use crate::slices::{rounds::Rounds, text};
use brunt_results::result::{Load, Server};
use brunt_results::{Error, Rate};
use brunt_slices::length::{LEAST_LEAD, LONGEST, Lengths};
use brunt_slices::{Slice, absolute, record};
use serde::{Deserialize, Serialize};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// Slices at a rate before it counts as held or broken.
const SAMPLES: usize = 5;
/// Rates tried at once between the ends of the bracket.
const BETWEEN: usize = 3;
const WARMUP: Duration = Duration::from_millis(300);
/// Requests that the slices of the lowest rate of a round should have.
const REQUESTS: f64 = 100.0;
/// A queue must be able to grow to the bound of the SLO within a slice: it is longer by this factor.
const LIMITS: f64 = 5.0;

/// A line of `slices.jsonl`: a slice and the rate that was offered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RatedSlice {
    /// Requests a second.
    pub rate: f64,
    #[serde(flatten)]
    pub slice: Slice,
}

/// Makes the slices and keeps them.
pub(super) struct Slices<'a> {
    context: Context<'a>,
    gone: &'a mut Gone<'a>,
    rounds: Rounds<'a>,
    load: Load,
    file: File,
    taken: Vec<RatedSlice>,
}

pub(super) fn effort(context: &Context) -> Effort {
    context.effort(SAMPLES, BETWEEN)
}

pub(super) fn bounds_of(context: &Context) -> Vec<Bound> {
    bounds(&context.request.slo)
}

impl<'a> Slices<'a> {
    pub(super) fn begin(
        context: Context<'a>,
        mut participant: Participant<'a>,
        gone: &'a mut Gone<'a>,
    ) -> Result<Self, Error> {
        let request = context.request;
        let load = participant.loader.load().clone();
        participant.loader.set_rate(request.range.from).map_err(Error::Failed)?;
        let file = File::create(request.out.join(record::FILE))?;
        let rounds = Rounds::begin(vec![participant], 1, request.seed, request.slice.0, WARMUP, &[]);
        Ok(Self { context, gone, rounds: rounds.map_err(Error::Failed)?, load, file, taken: Vec::new() })
    }

    /// Slices long enough for the lowest of the rates and for the bounds of the SLO.
    fn lengths(&self, rates: &[f64]) -> Lengths {
        let request = self.context.request;
        let lowest = rates.iter().copied().fold(f64::INFINITY, f64::min);
        let limit_us = request.slo.conditions().iter().filter(|condition| condition.is_time()).map(|of| of.bound);
        let wanted = (limit_us.fold(0.0, f64::max) / 1e6 * LIMITS).max(REQUESTS / lowest);
        let most = request.step.0.min(LONGEST).max(request.slice.0);
        let window = Duration::from_secs_f64(wanted.min(most.as_secs_f64())).max(request.slice.0);
        Lengths { window, lead: LEAST_LEAD.max(window / 4) }
    }

    fn slices(&mut self, rates: &[f64]) -> Result<Vec<RatedSlice>, Error> {
        let lengths = self.lengths(rates);
        let slices = self.rounds.round_of_rates(rates, lengths, self.context.stop).map_err(Error::Failed)?;
        let slices: Vec<RatedSlice> = slices.into_iter().map(|(rate, slice)| RatedSlice { rate, slice }).collect();
        for slice in &slices {
            self.file.write_all(&record::line(slice))?;
        }
        self.taken.extend(slices.iter().cloned());
        Ok(slices)
    }

    /// Ends the search if the target answers nothing, even at the lowest rate.
    fn check(&mut self, slices: &[RatedSlice]) -> Result<(), Error> {
        let fails = |slice: &Slice| slice.completed == 0 && slice.failed + slice.errors.total() > 0;
        let is_dead = |slices: &[RatedSlice]| slices.iter().all(|rated| fails(&rated.slice));
        if slices.is_empty() || !is_dead(slices) {
            return Ok(());
        }
        if let Some(why) = (self.gone)() {
            return Err(Error::Failed(why));
        }
        let lowest = self.context.request.range.from;
        let again = if slices[0].rate > lowest { self.slices(&[lowest])? } else { slices.to_vec() };
        if !is_dead(&again) || self.context.stop.load(Ordering::Relaxed) {
            return Ok(());
        }
        let why = self.gone_or_failed(&again)?;
        why.map_or(Ok(()), |why| Err(Error::Failed(why)))
    }

    fn gone_or_failed(&mut self, slices: &[RatedSlice]) -> Result<Option<String>, Error> {
        if let Some(why) = (self.gone)() {
            return Ok(Some(why));
        }
        let own: Vec<&Slice> = slices.iter().map(|rated| &rated.slice).collect();
        let result = absolute::result(&own, self.load.clone(), Server::default(), &[]).map_err(Error::Failed)?;
        let rate = Rate(slices.first().map_or(0.0, |rated| rated.rate));
        Ok(all_failed(&result).map(|how| {
            format!("every request of the load of {rate} requests/s failed ({how}), so no other rate is tried")
        }))
    }

    /// The share of the slices' time that the machine took.
    fn lost(&self) -> f64 {
        let sum = |of: fn(&Slice) -> f64| self.taken.iter().map(|rated| of(&rated.slice)).sum::<f64>();
        sum(|slice| slice.lost_us) / sum(|slice| slice.busy_us as f64).max(1.0)
    }
}

impl Sampler for Slices<'_> {
    fn round(&mut self, rates: &[f64]) -> Result<Option<Vec<Sample>>, Error> {
        let slices = self.slices(rates)?;
        if self.context.stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        self.check(&slices)?;
        let sample = |rated: &RatedSlice| {
            Ok(Sample {
                rate: rated.rate,
                measured_s: rated.slice.window_us as f64 / 1e6,
                is_void: rated.slice.is_void(),
                parts: parts(&self.context.request.slo, &rated.slice).map_err(Error::Failed)?,
            })
        };
        slices.iter().map(sample).collect::<Result<Vec<_>, _>>().map(Some)
    }

    /// One step a rate, with its directory, in the order of trying; rates that one round tried first ascend.
    fn steps(&mut self, search: &Search, steps_dir: &Path) -> Result<Vec<Step>, Error> {
        let mut rates: Vec<(u32, f64, Vec<&Slice>)> = Vec::new();
        for RatedSlice { rate, slice } in &self.taken {
            match rates.iter_mut().find(|(_, of, _)| of == rate) {
                Some((_, _, slices)) => slices.push(slice),
                None => rates.push((slice.round, *rate, vec![slice])),
            }
        }
        rates.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let mut steps = Vec::new();
        for (number, (_, rate, slices)) in (1..).zip(rates) {
            let dir = steps_dir.join(format!("{number:02}-rate={}", Rate(rate)));
            let result = write_slices(&dir, &slices, &self.load, rate)?;
            steps.push(of_rate(self.context.request, search, dir, rate, slices.len(), &result));
        }
        Ok(steps)
    }

    fn doubts(&self, search: &Search) -> Vec<String> {
        let mut doubts = Vec::new();
        let (rounds, void) = search.rounds();
        if search.too_many_void() {
            doubts.push(format!(
                "the machine took more than {:.0} % of a slice in {void} of {rounds} rounds; they count all the same",
                record::LOST * 100.0
            ));
        } else if void > 0 {
            doubts.push(text::void(void, rounds));
        }
        let (lost, slo) = (self.lost(), &self.context.request.slo);
        if let Some(strictest) = slo.strictest_share().filter(|share| lost > *share) {
            doubts.push(format!(
                "the machine took {:.1} % of the time, and {slo} allows {} % late requests: the limit may be the machine's",
                lost * 100.0,
                brunt_results::units::trimmed(strictest * 100.0)
            ));
        }
        doubts.extend_from_slice(self.rounds.notes());
        doubts.push("one start of the target was measured; another may differ by a percent or more".to_owned());
        doubts
    }
}
