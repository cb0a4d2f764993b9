//! Makes the slices of one start: rounds in random order until the caller has enough of them.

use super::length::{Lengths, Pace, lengths};
use super::{Loader, Slice, SliceError, SliceSpec};
use crate::schedule::shuffle;
use crate::system::freezer::Freezer;
use brunt_meter::proc_net;
use brunt_meter::slice::{LostTime, Polls, ServerCpu};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::time::{Duration, Instant};

/// Windows are longer or shorter by up to this share at random, so that they do not keep step with a periodic disturbance.
const JITTER: f64 = 0.1;
/// Shortest slice that is a run of a program: it takes some milliseconds to start and to connect.
pub const LEAST_RUN: Duration = Duration::from_secs(1);

/// A target that is up, with what loads it.
pub struct Participant<'a> {
    pub name: String,
    pub loader: Box<dyn Loader + 'a>,
    /// `None` for a target that is not on this machine.
    pub server: Option<ServerCpu>,
    /// Its process group, if it may be frozen between its slices.
    pub group: Option<u32>,
}

/// A participant, frozen while it idles if it would use CPU time then.
struct Taking<'a> {
    participant: Participant<'a>,
    freezer: Option<Freezer>,
    polls: Polls,
}

/// One start of all targets of a load.
pub struct Rounds<'a> {
    targets: Vec<Taking<'a>>,
    lost: LostTime,
    start: u32,
    random: Xoshiro256PlusPlus,
    lengths: Lengths,
    /// Whether slices are runs of a program. Their length does not vary, as some programs know whole seconds only.
    anew: bool,
    begun: Instant,
    round: u32,
    /// CPU time of each participant at the end of the last slice.
    cpu: Vec<Option<Duration>>,
    /// Targets that could not be loaded, and why.
    failures: Vec<(String, String)>,
}

impl<'a> Rounds<'a> {
    /// Loads each target once without measuring, for `warmup`, and chooses the lengths: `slice` or more. `cores` are those
    /// of the targets; equal seeds give equal orders and arrivals.
    pub fn begin(
        participants: Vec<Participant<'a>>,
        start: u32,
        seed: u64,
        slice: Duration,
        warmup: Duration,
        cores: &[usize],
    ) -> Result<Self, String> {
        let threads = participants.iter().flat_map(|participant| participant.loader.threads().to_vec());
        let lost = LostTime::attach(&threads.collect::<Vec<u32>>(), cores);
        let anew = participants.iter().any(|participant| participant.loader.starts_anew());
        let taking = |participant| Taking { participant, freezer: None, polls: Polls::default() };
        let mut rounds = Self {
            targets: participants.into_iter().map(taking).collect(),
            lost,
            start,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            lengths: Lengths { window: slice.max(LEAST_RUN), lead: Duration::ZERO },
            anew,
            begun: Instant::now(),
            round: 0,
            cpu: Vec::new(),
            failures: Vec::new(),
        };
        let half = warmup / 2;
        let spec = match anew {
            true => SliceSpec { lead: Duration::ZERO, window: warmup, seed },
            false => SliceSpec { lead: half, window: half.max(Duration::from_millis(50)), seed },
        };
        if !spec.window.is_zero() {
            let paces = rounds.warm_up(&spec)?;
            let connections = rounds.targets.iter().map(|target| target.participant.loader.load().connections).max();
            if !anew {
                rounds.lengths = lengths(slice, connections.unwrap_or(1), &paces);
            }
        }
        rounds.begun = Instant::now();
        rounds.cpu = rounds.read_cpu();
        Ok(rounds)
    }

    /// Loads each target once, and freezes those that use CPU time meanwhile.
    fn warm_up(&mut self, spec: &SliceSpec) -> Result<Vec<Pace>, String> {
        let mut paces = Vec::new();
        for name in self.names() {
            let Some(index) = self.index(&name) else { continue };
            let (before, at) = (self.read_cpu(), Instant::now());
            let Some(warm) = self.made(index, spec)? else { continue };
            let p50 = Duration::from_secs_f64(warm.latency.p50_us.unwrap_or(0.0) / 1e6);
            paces.push(Pace { rate: warm.rate(), p50 });
            let now = self.read_cpu();
            for other in (0..self.targets.len()).filter(|other| *other != index) {
                if let (Some(before), Some(now)) = (before[other], now[other]) {
                    self.targets[other].polls.add_idle(now.saturating_sub(before), at.elapsed());
                }
            }
        }
        for target in self.targets.iter_mut().filter(|target| target.polls.burns()) {
            target.freezer = target.participant.group.and_then(|group| Freezer::new(group).ok());
            target.freezer.as_mut().map(Freezer::freeze).transpose()?;
        }
        Ok(paces)
    }

    fn names(&self) -> Vec<String> {
        self.targets.iter().map(|target| target.participant.name.clone()).collect()
    }

    fn index(&self, name: &str) -> Option<usize> {
        self.targets.iter().position(|target| target.participant.name == name)
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
        if let Some(index) = self.index(name) {
            self.targets.remove(index);
            if index < self.cpu.len() {
                self.cpu.remove(index);
            }
        }
    }

    /// Targets that were taken out since the last call because they could not be loaded, and why.
    pub fn failures(&mut self) -> Vec<(String, String)> {
        std::mem::take(&mut self.failures)
    }

    /// Makes one slice of each target, in random order. The error ends the experiment.
    pub fn round(&mut self) -> Result<Vec<Slice>, String> {
        self.round += 1;
        let mut order = self.names();
        shuffle(&mut order, &mut self.random);
        let jitter = 1.0 + JITTER * (2.0 * (self.random.next_u64() as f64 / u64::MAX as f64) - 1.0);
        let window = self.lengths.window.mul_f64(if self.anew { 1.0 } else { jitter });
        let spec = SliceSpec { lead: self.lengths.lead, window, seed: self.random.next_u64() };
        let mut slices = Vec::new();
        for (position, name) in (0..).zip(order) {
            if let Some(index) = self.index(&name) {
                slices.extend(self.slice(position, index, &spec)?);
            }
        }
        Ok(slices)
    }

    /// A slice with what its loader knows; takes the target out if that fails.
    fn made(&mut self, index: usize, spec: &SliceSpec) -> Result<Option<Slice>, String> {
        let participant = &mut self.targets[index].participant;
        match participant.loader.slice(spec) {
            Ok(slice) => Ok(Some(slice)),
            Err(SliceError::Experiment(why)) => Err(why),
            Err(SliceError::Target(why)) => {
                let name = participant.name.clone();
                self.remove(&name);
                self.failures.push((name, why));
                Ok(None)
            }
        }
    }

    fn slice(&mut self, position: u32, index: usize, spec: &SliceSpec) -> Result<Option<Slice>, String> {
        let (at, lost, accepted) = (self.begun.elapsed(), self.lost.read(), accepted());
        self.targets[index].freezer.iter_mut().for_each(Freezer::thaw);
        let Some(slice) = self.made(index, spec)? else { return Ok(None) };
        let lost = self.lost.read().saturating_sub(lost);
        let now = self.read_cpu();
        let opened = self::accepted().zip(accepted).map(|(now, before)| now.saturating_sub(before));
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
        Ok(Some(Slice {
            start: self.start,
            round: self.round,
            position,
            target: participant.name.clone(),
            at_us: at.as_micros() as u64,
            server_cpu_us: used[index],
            lost_us: lost.as_secs_f64() * 1e6,
            idle_cpu_us,
            rss_bytes: participant.server.as_ref().map(ServerCpu::rss_bytes),
            opened: slice.opened.or(opened),
            ..slice
        }))
    }

    fn read_cpu(&mut self) -> Vec<Option<Duration>> {
        self.targets.iter_mut().map(|target| target.participant.server.as_mut()?.read()).collect()
    }
}

/// Connections accepted in this network namespace since its start.
fn accepted() -> Option<u64> {
    proc_net::snmp("Tcp", "PassiveOpens")
}
