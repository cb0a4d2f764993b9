//! Makes the slices of one start: rounds in random order until the caller has enough of them.

use super::length::{Lengths, Pace, lengths};
use super::{ConnectionSet, Slice, SliceSpec};
use crate::schedule::shuffle;
use crate::system::freezer::Freezer;
use brunt_meter::slice::{LostTime, Polls, ServerCpu};
use brunt_results::latency::MAX_LATENCY_NS;
use brunt_results::{LatencySummary, hlog::encode};
use hdrhistogram::Histogram;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};

/// Windows are longer or shorter by up to this share at random, so that they do not keep step with a periodic disturbance.
const JITTER: f64 = 0.1;

/// A target that is up, with its open connections.
pub struct Participant {
    pub name: String,
    pub connections: Box<dyn ConnectionSet>,
    /// `None` for a target that is not on this machine.
    pub server: Option<ServerCpu>,
    /// Its process group, if it may be frozen between its slices.
    pub group: Option<u32>,
}

/// A participant, frozen while it idles if it would use CPU time then.
struct Taking {
    participant: Participant,
    freezer: Option<Freezer>,
}

/// One start of all targets of a load.
pub struct Rounds {
    targets: Vec<Taking>,
    lost: LostTime,
    start: u32,
    random: Xoshiro256PlusPlus,
    lengths: Lengths,
    begun: Instant,
    round: u32,
    /// CPU time of each participant at the end of the last slice.
    cpu: Vec<Option<Duration>>,
}

impl Rounds {
    /// Loads each target once without measuring, for `warmup`, and chooses the lengths: `slice` or more. `cores` are those
    /// of generator and targets; equal seeds give equal orders and arrivals.
    pub fn begin(
        mut participants: Vec<Participant>,
        start: u32,
        seed: u64,
        slice: Duration,
        warmup: Duration,
        cores: &[usize],
    ) -> Result<Self, String> {
        let spec = SliceSpec { lead: warmup / 2, window: (warmup / 2).max(Duration::from_millis(50)), seed };
        let (mut paces, mut polls) = (Vec::new(), vec![Polls::default(); participants.len()]);
        for index in 0..participants.len() {
            let (before, at) = (read_cpu(&mut participants), Instant::now());
            let warm = participants[index].connections.slice(&spec)?;
            let p50 = Duration::from_nanos(warm.response.value_at_quantile(0.5));
            paces.push(Pace { rate: warm.completed as f64 / warm.window.as_secs_f64(), p50 });
            let now = read_cpu(&mut participants);
            for other in (0..polls.len()).filter(|other| *other != index) {
                if let (Some(before), Some(now)) = (before[other], now[other]) {
                    polls[other].add_idle(now.saturating_sub(before), at.elapsed());
                }
            }
        }
        let connections = participants.iter().map(|participant| participant.connections.load().connections).max();
        let threads = participants.iter().flat_map(|participant| participant.connections.threads().to_vec());
        let lost = LostTime::attach(&threads.collect::<Vec<u32>>(), cores);
        let frozen = |participant: Participant, polls: &Polls| {
            let group = participant.group.filter(|_| polls.burns());
            let mut freezer = group.and_then(|group| Freezer::new(group).ok());
            freezer.as_mut().map(Freezer::freeze).transpose()?;
            Ok(Taking { participant, freezer })
        };
        let targets = participants.into_iter().zip(&polls).map(|(participant, polls)| frozen(participant, polls));
        let mut rounds = Self {
            targets: targets.collect::<Result<_, String>>()?,
            lost,
            start,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            lengths: lengths(slice, connections.unwrap_or(1), &paces),
            begun: Instant::now(),
            round: 0,
            cpu: Vec::new(),
        };
        rounds.cpu = rounds.read_cpu();
        Ok(rounds)
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Where the CPU time of a target comes from, if it is metered.
    pub fn cpu_source(&self, name: &str) -> Option<String> {
        let target = self.targets.iter().find(|target| target.participant.name == name)?;
        Some(target.participant.server.as_ref()?.source().to_string())
    }

    /// Takes a target out, such as one that has ended.
    pub fn remove(&mut self, name: &str) {
        if let Some(index) = self.targets.iter().position(|target| target.participant.name == name) {
            self.targets.remove(index);
            self.cpu.remove(index);
        }
    }

    /// Makes one slice of each target, in random order.
    pub fn round(&mut self) -> Result<Vec<Slice>, String> {
        self.round += 1;
        let mut order: Vec<usize> = (0..self.targets.len()).collect();
        shuffle(&mut order, &mut self.random);
        let jitter = 1.0 + JITTER * (2.0 * (self.random.next_u64() as f64 / u64::MAX as f64) - 1.0);
        let window = self.lengths.window.mul_f64(jitter);
        let spec = SliceSpec { lead: self.lengths.lead, window, seed: self.random.next_u64() };
        order.into_iter().enumerate().map(|(position, index)| self.slice(position as u32, index, &spec)).collect()
    }

    fn slice(&mut self, position: u32, index: usize, spec: &SliceSpec) -> Result<Slice, String> {
        let (at, lost) = (self.begun.elapsed(), self.lost.read());
        let target = &mut self.targets[index];
        target.freezer.iter_mut().for_each(Freezer::thaw);
        let measured = target.participant.connections.slice(spec)?;
        let lost = self.lost.read().saturating_sub(lost);
        let now = self.read_cpu();
        self.targets[index].freezer.as_mut().map(Freezer::freeze).transpose()?;
        let before = std::mem::replace(&mut self.cpu, now);
        let used: Vec<Option<f64>> = before
            .iter()
            .zip(&self.cpu)
            .map(|(before, now)| Some((*now)?.saturating_sub((*before)?).as_secs_f64() * 1e6))
            .collect();
        let others = self.targets.iter().zip(&used).enumerate().filter(|(other, _)| *other != index);
        let idle = others.map(|(_, (other, used))| (&other.participant.name, used.unwrap_or(0.0)));
        let idle_cpu_us = idle.filter(|(_, us)| *us > 0.0).map(|(name, us)| (name.clone(), us)).collect();
        let participant = &self.targets[index].participant;
        Ok(Slice {
            start: self.start,
            round: self.round,
            position,
            target: participant.name.clone(),
            at_us: at.as_micros() as u64,
            window_us: measured.window.as_micros() as u64,
            busy_us: measured.busy.as_micros() as u64,
            completed: measured.completed,
            replies: measured.replies,
            failed: measured.failed,
            unanswered: measured.unanswered,
            abandoned: measured.abandoned,
            errors: measured.errors,
            server_cpu_us: used[index],
            generator_cpu_us: measured.cpu.as_secs_f64() * 1e6,
            generator_percent: measured.busiest_percent,
            lost_us: lost.as_secs_f64() * 1e6,
            idle_cpu_us,
            rss_bytes: participant.server.as_ref().map(ServerCpu::rss_bytes),
            sent_bytes: measured.sent_bytes,
            received_bytes: measured.received_bytes,
            statuses: measured.statuses,
            latency: LatencySummary::of(&measured.response),
            response: coarse(&measured.response),
            service: measured.service.as_ref().map(coarse),
            lag: measured.lag.as_ref().map(coarse),
            void: None,
        })
    }

    fn read_cpu(&mut self) -> Vec<Option<Duration>> {
        read_cpu(self.targets.iter_mut().map(|target| &mut target.participant))
    }
}

fn read_cpu<'p>(participants: impl IntoIterator<Item = &'p mut Participant>) -> Vec<Option<Duration>> {
    participants.into_iter().map(|participant| participant.server.as_mut()?.read()).collect()
}

/// The histogram with two significant digits, as text: a few hundred bytes.
fn coarse(histogram: &Histogram<u64>) -> String {
    let mut coarse = Histogram::new_with_bounds(1, MAX_LATENCY_NS, 2).expect("the bounds are constants it accepts");
    coarse.add(histogram).expect("both have the same range");
    encode(&coarse)
}
