//! Slices of one length that take turns over targets and rates.

use super::SliceSpec;
use super::rounds::Rounds;
use crate::schedule::shuffle;
use brunt_slices::cost::CostSlice;
use rand_xoshiro::rand_core::Rng;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// A target and a rate, in requests a second.
pub type TargetAtRate = (String, f64);

/// Part of a slice that is load without being measured for latency; its CPU time counts.
const LEAD: f64 = 1.0 / 15.0;

impl Rounds<'_> {
    /// Makes one slice of each of these, with its length, in random order and with the same arrivals as far as rates allow; fewer
    /// once `stop` is set, or where a target was taken out. The length is that of lead and window, the same to the nanosecond
    /// for all slices that ask for it.
    pub fn round_at_rates(
        &mut self,
        wanted: &[(TargetAtRate, Duration)],
        stop: &AtomicBool,
    ) -> Result<Vec<CostSlice>, String> {
        self.round += 1;
        self.read_anew();
        let mut order = wanted.to_vec();
        shuffle(&mut order, &mut self.random);
        let seed = self.random.next_u64();
        let mut slices = Vec::new();
        for (position, ((target, rate), length)) in (0..).zip(order) {
            let Some(index) = self.index(&target).filter(|_| !stop.load(Ordering::Relaxed)) else { continue };
            self.targets[index].participant.loader.set_rate(rate)?;
            let front = self.front_cpu(index);
            let lead = length.mul_f64(LEAD);
            let spec = SliceSpec { lead, window: length.saturating_sub(lead), seed };
            if let Some(slice) = self.slice(position, index, &spec)? {
                let used = self.front_cpu(index).zip(front).map(|(now, before)| now.saturating_sub(before));
                let front_cpu_us = used.map(|used| used.as_secs_f64() * 1e6);
                slices.push(CostSlice { rate, span_us: self.span.as_secs_f64() * 1e6, front_cpu_us, slice });
            }
        }
        Ok(slices)
    }

    /// CPU time of what listens alone, of a target with something behind it.
    fn front_cpu(&mut self, index: usize) -> Option<Duration> {
        self.targets.get_mut(index)?.participant.server.as_mut()?.front_cpu()
    }
}
