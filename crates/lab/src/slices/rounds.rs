//! Makes the slices of one start: rounds in random order until the caller has enough of them.

use super::account::MachineAccount;
use super::participant::{IDLE, Participant, Taking};
use super::{SliceError, SliceSpec};
use crate::clock;
use crate::schedule::shuffle;
use brunt_meter::search::Found;
use brunt_results::env::Env;
use brunt_slices::Slice;
use brunt_slices::length::{Lengths, Pace, lengths};
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Windows are longer or shorter by up to this share at random, so that they do not keep step with a periodic disturbance.
const JITTER: f64 = 0.1;
/// Shortest slice that is a run of a program: it takes some milliseconds to start and to connect.
pub const LEAST_RUN: Duration = Duration::from_secs(1);

/// One start of all targets of a load.
pub struct Rounds<'a> {
    pub(super) targets: Vec<Taking<'a>>,
    machine: MachineAccount,
    start: u32,
    pub(super) random: Xoshiro256PlusPlus,
    lengths: Lengths,
    /// Whether slices are runs of a program. Their length does not vary, as some programs know whole seconds only.
    anew: bool,
    begun: Instant,
    pub(super) round: u32,
    /// CPU time of each participant at the end of the last slice.
    cpu: Vec<Option<Duration>>,
    /// Interrupt time then, as far as threads are billed without it.
    interrupts: Duration,
    /// When both were read, and how long after the reading before.
    read_at: Instant,
    pub(super) span: Duration,
    /// Targets that could not be loaded, and why.
    failures: Vec<(String, String)>,
    notes: Vec<String>,
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
        let machine = MachineAccount::attach(&threads.collect::<Vec<u32>>(), cores);
        let anew = participants.iter().any(|participant| participant.loader.starts_anew());
        let mut rounds = Self {
            targets: participants.into_iter().map(Taking::new).collect(),
            machine,
            start,
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            lengths: Lengths { window: slice.max(LEAST_RUN), lead: Duration::ZERO },
            anew,
            begun: clock::now(),
            round: 0,
            cpu: Vec::new(),
            interrupts: Duration::ZERO,
            read_at: clock::now(),
            span: Duration::ZERO,
            failures: Vec::new(),
            notes: Vec::new(),
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
        for target in &mut rounds.targets {
            let server = target.participant.server.as_ref();
            target.is_beside = server.is_some_and(|server| rounds.machine.is_on(&server.cores()));
        }
        rounds.begun = clock::now();
        rounds.read_anew();
        Ok(rounds)
    }

    /// Loads each target once, and freezes those that use CPU time meanwhile.
    fn warm_up(&mut self, spec: &SliceSpec) -> Result<Vec<Pace>, String> {
        let mut paces = Vec::new();
        for name in self.names() {
            let Some(index) = self.index(&name) else { continue };
            let (before, at) = (self.read_cpu(), clock::now());
            self.targets[index].participant.server.iter_mut().for_each(|server| server.begin_search());
            let Some(warm) = self.made(index, spec)? else { continue };
            if let Some(found) = self.targets[index].participant.server.as_mut().and_then(|server| server.end_search())
            {
                self.follow(index, found);
            }
            let p50 = Duration::from_secs_f64(warm.latency.p50_us.unwrap_or(0.0) / 1e6);
            paces.push(Pace { rate: warm.rate(), p50 });
            let now = self.read_cpu();
            for other in 0..self.targets.len() {
                if self.is_one_server(other, index) {
                    continue;
                }
                if let (Some(before), Some(now)) = (before[other], now[other]) {
                    self.targets[other].idles(now.saturating_sub(before), clock::since(at));
                }
            }
        }
        self.watch_without_load();
        self.targets.iter_mut().try_for_each(Taking::freeze_if_it_burns)?;
        self.targets.iter_mut().try_for_each(Taking::idle_alone)?;
        Ok(paces)
    }

    /// From now on the CPU time of the target is that of its service, or unknown if a part of it cannot be metered.
    fn follow(&mut self, index: usize, found: Found) {
        let target = &mut self.targets[index];
        let participant = &mut target.participant;
        let name = &participant.name;
        match found.unseen.first() {
            Some(why) => {
                let why = format!("it is connected to what cannot be metered: {why}");
                self.notes.push(format!("no CPU a request of {name}: {why}"));
                (participant.server, target.unseen) = (None, Some(why));
            }
            None => {
                let parts: Vec<String> = found.parts.iter().map(|(part, pid)| format!("{part} (pid {pid})")).collect();
                if !parts.is_empty() {
                    let parts = parts.join(" and ");
                    self.notes.push(format!("CPU a request of {name} is that of its service, with {parts} behind it"));
                }
                if let Some(server) = &mut participant.server {
                    server.follow(found);
                }
            }
        }
    }

    /// Tells those that are busy without any load from those to which the requests of others come.
    fn watch_without_load(&mut self) {
        if !self.targets.iter().any(|target| target.idled().is_some_and(|idled| idled.burns())) {
            return;
        }
        let (before, at) = (self.read_cpu(), clock::now());
        clock::sleep(IDLE);
        let (now, time) = (self.read_cpu(), clock::since(at));
        for (target, (before, now)) in self.targets.iter_mut().zip(before.into_iter().zip(now)) {
            if let (Some(before), Some(now)) = (before, now) {
                target.rests(now.saturating_sub(before), time);
            }
        }
    }

    /// Whether one is the other, or both are served by one process.
    fn is_one_server(&self, one: usize, other: usize) -> bool {
        let participant = |index: usize| &self.targets[index].participant;
        one == other || participant(one).is_one_server_with(participant(other))
    }

    fn names(&self) -> Vec<String> {
        self.targets.iter().map(|target| target.participant.name.clone()).collect()
    }

    pub(super) fn index(&self, name: &str) -> Option<usize> {
        self.targets.iter().position(|target| target.participant.name == name)
    }

    /// Whether the target still takes part.
    pub fn has(&self, name: &str) -> bool {
        self.index(name).is_some()
    }

    pub fn is_empty(&self) -> bool {
        self.targets.is_empty()
    }

    /// Adds how a target is metered, and what it does while it idles.
    pub fn describe(&self, name: &str, env: &mut Env) {
        let Some(target) = self.index(name).map(|index| &self.targets[index]) else { return };
        env.idle = target.idle.clone();
        env.absent.extend(target.unseen.iter().map(|why| ("server.cpu_us_per_request".to_owned(), why.clone())));
        env.server_cpu_source = target.participant.server.as_ref().map(|server| {
            let apart = self.machine.has_interrupts_apart() && server.leaves_out_interrupts();
            let interrupts = if apart { ", and interrupts of its cores" } else { "" };
            let behind = server.found().map_or(String::new(), |found| {
                found.parts.iter().map(|(part, pid)| format!("; with {part} (pid {pid})")).collect()
            });
            format!("{}{interrupts}{behind}", server.source())
        });
    }

    /// What the CPU time of targets contains, or why it is not known, where that is to be said.
    pub fn notes(&self) -> &[String] {
        &self.notes
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
        let mut order = self.names();
        let spec = self.next_round(&mut order);
        let mut slices = Vec::new();
        for (position, name) in (0..).zip(order) {
            if let Some(index) = self.index(&name) {
                slices.extend(self.slice(position, index, &spec)?);
            }
        }
        Ok(slices)
    }

    /// Makes one slice of the only target at each of these rates, in random order, with the same arrivals as far as rates
    /// allow; fewer once `stop` is set.
    pub fn round_of_rates(
        &mut self,
        rates: &[f64],
        lengths: Lengths,
        stop: &AtomicBool,
    ) -> Result<Vec<(f64, Slice)>, String> {
        self.lengths = lengths;
        let mut order = rates.to_vec();
        let spec = self.next_round(&mut order);
        let mut slices = Vec::new();
        for (position, rate) in (0..).zip(order) {
            if !stop.load(Ordering::Relaxed) {
                self.targets[0].participant.loader.set_rate(rate)?;
                slices.extend(self.slice(position, 0, &spec)?.map(|slice| (rate, slice)));
            }
        }
        Ok(slices)
    }

    /// Shuffles what is to be loaded; returns what the slices of the next round have in common.
    fn next_round<T>(&mut self, order: &mut [T]) -> SliceSpec {
        self.round += 1;
        shuffle(order, &mut self.random);
        let jitter = 1.0 + JITTER * (2.0 * (self.random.next_u64() as f64 / u64::MAX as f64) - 1.0);
        let window = self.lengths.window.mul_f64(if self.anew { 1.0 } else { jitter });
        SliceSpec { lead: self.lengths.lead, window, seed: self.random.next_u64() }
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

    pub(super) fn slice(&mut self, position: u32, index: usize, spec: &SliceSpec) -> Result<Option<Slice>, String> {
        let (at, lost, accepted) = (clock::since(self.begun), self.machine.lost(), self.machine.accepted());
        self.targets[index].thaw();
        let Some(slice) = self.made(index, spec)? else { return Ok(None) };
        let lost_now = self.machine.lost();
        let (now, irq) = (self.read_cpu(), self.machine.interrupts());
        let read_at = clock::now();
        self.span = read_at.saturating_duration_since(std::mem::replace(&mut self.read_at, read_at));
        let interrupts = irq.saturating_sub(std::mem::replace(&mut self.interrupts, irq));
        let opened = self.machine.accepted().zip(accepted).map(|(now, before)| now.saturating_sub(before));
        self.targets[index].freeze()?;
        let before = std::mem::replace(&mut self.cpu, now);
        let mut used: Vec<Option<f64>> = before
            .iter()
            .zip(&self.cpu)
            .map(|(before, now)| Some((*now)?.saturating_sub((*before)?).as_secs_f64() * 1e6))
            .collect();
        let lost = lost_now.since(lost, self.beside_the_generator(&used));
        let server = self.targets[index].participant.server.as_ref();
        if server.is_some_and(|server| server.leaves_out_interrupts()) {
            used[index] = used[index].map(|us| us + interrupts.as_secs_f64() * 1e6);
        }
        let of_others = |is_shared: bool| -> Vec<(String, f64)> {
            let others = self.targets.iter().zip(&used).enumerate();
            let others = others
                .filter(|(other, (taking, _))| !self.is_one_server(*other, index) && taking.is_shared == is_shared);
            let times = others.map(|(_, (other, used))| (other.participant.name.clone(), used.unwrap_or(0.0)));
            times.filter(|(_, us)| *us > 0.0).collect()
        };
        let (idle_cpu_us, shared_cpu_us) = (of_others(false), of_others(true));
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
            shared_cpu_us,
            rss_bytes: participant.server.as_ref().map(|server| server.rss_bytes()),
            opened: slice.opened.or(opened),
            ..slice
        }))
    }

    /// What the targets used of the generator's cores, at most, of what they `used` in all, in microseconds; `None` if that is not
    /// known of one.
    fn beside_the_generator(&self, used: &[Option<f64>]) -> Option<Duration> {
        let beside = |(target, used): (&Taking, &Option<f64>)| match &target.participant {
            Participant { server: None, process: Some(_), .. } => None,
            _ => Some(used.filter(|_| target.is_beside).unwrap_or(0.0)),
        };
        let all: Option<f64> = self.targets.iter().zip(used).map(beside).sum();
        all.map(|us| Duration::from_secs_f64(us / 1e6))
    }

    /// What was used until now is that of no slice.
    pub(super) fn read_anew(&mut self) {
        self.cpu = self.read_cpu();
        self.interrupts = self.machine.interrupts();
        self.read_at = clock::now();
    }

    fn read_cpu(&mut self) -> Vec<Option<Duration>> {
        self.targets.iter_mut().map(Taking::cpu).collect()
    }
}
