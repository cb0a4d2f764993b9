//! Slices of one length that take turns over targets and rates.

use super::SliceSpec;
use super::rounds::Rounds;
use crate::schedule::shuffle;
use brunt_slices::cost::CostSlice;
use rand_xoshiro::rand_core::Rng;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A slice that is wanted.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    pub target: String,
    /// Requests a second.
    pub rate: f64,
    /// Whether a second one follows at once.
    pub twice: bool,
}

/// Part of a slice that is load without being measured for latency; its CPU time counts.
const LEAD: f64 = 1.0 / 15.0;

impl Rounds<'_> {
    /// Makes these slices in random order and with the same arrivals as far as rates allow; fewer once `stop` is set, or where a
    /// target was taken out. `length` is that of lead and window, the same to the nanosecond for all slices.
    pub fn round_at_rates(
        &mut self,
        wanted: &[Wanted],
        length: Duration,
        stop: &AtomicBool,
    ) -> Result<Vec<CostSlice>, String> {
        self.round += 1;
        self.read_anew();
        let mut order = wanted.to_vec();
        shuffle(&mut order, &mut self.random);
        let lead = length.mul_f64(LEAD);
        let spec = SliceSpec { lead, window: length.saturating_sub(lead), seed: self.random.next_u64() };
        let mut slices = Vec::new();
        for (position, wanted) in (0..).zip(order) {
            for second in [false, true] {
                if (!second || wanted.twice) && !stop.load(Ordering::Relaxed) {
                    slices.extend(self.slice_at_rate(position, &wanted, second, &spec)?);
                }
            }
        }
        Ok(slices)
    }

    /// `None` if the target was taken out.
    fn slice_at_rate(
        &mut self,
        position: u32,
        wanted: &Wanted,
        second: bool,
        spec: &SliceSpec,
    ) -> Result<Option<CostSlice>, String> {
        let Some(index) = self.index(&wanted.target) else { return Ok(None) };
        self.targets[index].participant.loader.set_rate(wanted.rate)?;
        let front = self.front_cpu(index);
        let Some(slice) = self.slice(position, index, spec)? else { return Ok(None) };
        let used = self.front_cpu(index).zip(front).map(|(now, before)| now.saturating_sub(before));
        let front_cpu_us = used.map(|used| used.as_secs_f64() * 1e6);
        let span_us = self.span.as_secs_f64() * 1e6;
        Ok(Some(CostSlice { rate: wanted.rate, span_us, front_cpu_us, second, slice }))
    }

    /// CPU time of what listens alone, of a target with something behind it.
    fn front_cpu(&mut self, index: usize) -> Option<Duration> {
        self.targets.get_mut(index)?.participant.server.as_mut()?.front_cpu()
    }
}
