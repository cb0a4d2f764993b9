//! Runs one start of a sliced load: launches all its targets, opens their connections, makes rounds of slices until the
//! start has enough of them, and leaves the slices and a result for each target.
//!
//! Invariants as of a trial: no process outlives it; each trial's directory has `result.json` or `failed.json`.

mod enough;
mod tester;
pub(super) mod written;

use super::endpoint::Endpoint;
use super::trial::{
    RunningTarget, TrialContext, TrialError, TrialGroup, TrialRunner, TrialStatus, free_address, write_failures,
};
use crate::clock;
use crate::run_directory::Failure;
use crate::schedule::{Machine, shuffle};
use crate::slices::participant::{Participant, process_group};
use crate::slices::rounds::{LEAST_RUN, Rounds};
use crate::slices::session::{End, session};
use crate::slices::{Generator, Loader, text};
use crate::system::process_group::{AffinityGuard, ProcessGroup};
use crate::testers::external;
use brunt_meter::{Scope, ServerMeter};
use brunt_results::{directory::Directory, env::Env, regime::Regime, result::Load};
use brunt_slices::Slice;
use fnv::FnvHasher;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;
use std::hash::Hasher;
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use std::{fs, io};
use tester::TesterRuns;
use written::SliceFile;

pub(super) use enough::{Enough, time_of_starts};

/// Rounds from one look at the intervals to the next, for the progress line.
const LOOKS: u32 = 4;

/// One start of all targets of a load.
pub(super) struct SlicedStart<'a> {
    pub runner: &'a TrialRunner<'a>,
    pub generator: &'a dyn Generator,
    /// A target each, with a single trial, in the order of the plan.
    pub groups: Vec<TrialGroup<'a>>,
    /// Where the slices of the load go.
    pub file: PathBuf,
    pub enough: &'a Enough<'a>,
    /// What CPU time contains on this machine.
    pub regime: Option<&'a Regime>,
}

/// What was started for one target.
struct Up<'a> {
    context: TrialContext<'a>,
    background: Option<ProcessGroup>,
    running: Option<RunningTarget>,
    meter: Option<Result<ServerMeter, String>>,
    failure: Option<TrialError>,
    words: Vec<String>,
    /// What the generator was asked for.
    load: Load,
    env: Env,
}

impl SlicedStart<'_> {
    /// Runs it; one status for each group, and the time that its slices took.
    pub(super) fn run(&self, tick: &mut dyn FnMut(&str)) -> io::Result<(Vec<TrialStatus>, Duration)> {
        for trial in self.groups.iter().flat_map(|group| &group.trials) {
            let _ = fs::remove_dir_all(&trial.dir);
            Directory::create(&trial.dir)?;
        }
        let (client, repeat) = (&self.groups[0].cell().placement.client, self.groups[0].repeat);
        let _affinity = AffinityGuard::pin(client);
        let machine = Machine::here()?;
        let mut file = SliceFile::open(&self.file, repeat)?;
        let env = Env { regime: self.regime.cloned(), ..brunt_meter::environment::collect() };
        let mut targets = Vec::new();
        for group in &self.groups {
            let context = TrialContext::new(self.runner, group, free_address()?, machine.clone())?;
            targets.push(Up {
                context,
                background: None,
                running: None,
                meter: None,
                failure: None,
                words: Vec::new(),
                load: Load::default(),
                env: env.clone(),
            });
        }
        let begun = clock::now();
        self.launch(&mut targets, tick);
        let ended = self.load(&mut targets, &mut file, begun, tick);
        tick("stopping the targets");
        let interrupted = matches!(ended, Err(TrialError::Interrupted)) || self.is_stopped();
        let failed = match ended {
            Err(TrialError::Io(error)) => return Err(error),
            Err(TrialError::Failed(_, failure)) => Some(failure),
            Err(TrialError::Interrupted) | Ok(()) => None,
        };
        let mut statuses = Vec::new();
        for (group, target) in self.groups.iter().zip(targets) {
            statuses.push(self.finish(group, target, file.own(), failed.as_ref(), interrupted, tick)?);
        }
        Ok((statuses, time_of_starts(file.own()).iter().sum()))
    }

    fn is_stopped(&self) -> bool {
        self.runner.stop.load(Ordering::Relaxed)
    }

    /// Starts the targets in random order: the first to be started must not always be the same.
    fn launch(&self, targets: &mut [Up], tick: &mut dyn FnMut(&str)) {
        let group = &self.groups[0];
        let mut random = Xoshiro256PlusPlus::seed_from_u64(group.seed);
        let mut order: Vec<usize> = (0..targets.len()).collect();
        shuffle(&mut order, &mut random);
        for index in order {
            let target = &mut targets[index];
            let name = &self.groups[index].target.name;
            let mut told = |_: usize, what: &'static str| tick(&format!("{name}: {what}"));
            match target.context.start_target(&mut target.background, &mut told) {
                Ok(running) => {
                    target.words = running.words.clone();
                    target.meter = Some(metered(&running));
                    target.running = Some(running);
                }
                Err(error) => target.failure = Some(error),
            }
        }
    }

    /// The targets that are up, each with what loads it.
    fn participants<'s>(
        &'s self,
        targets: &mut [Up],
        tick: &mut dyn FnMut(&str),
    ) -> Result<Vec<Participant<'s>>, TrialError> {
        let mut participants = Vec::new();
        for (group, target) in self.groups.iter().zip(targets.iter_mut()) {
            let Some(running) = &target.running else { continue };
            tick(&format!("{}: opening connections", group.target.name));
            let endpoint = running.endpoint.clone();
            let (record, words) = self.words(group, target, &endpoint)?;
            Directory::open(&group.trials[0].dir).write_json("trial.json", &record)?;
            let loader = self.loader(group, &endpoint, &words);
            match loader.and_then(|loader| Ok((loader, group.target.service.scope()?))) {
                Ok((loader, scope)) => {
                    target.load = loader.load().clone();
                    let (name, pid) = (group.target.name.clone(), endpoint.pid);
                    let server = endpoint.account(scope, self.generator, &words);
                    let freezable = endpoint.agent.is_none().then(|| process_group(pid));
                    participants.push(Participant { name, loader, process: Some(pid), server, freezable });
                }
                Err(why) => target.failure = Some(target.context.target_failed(why)),
            }
        }
        Ok(participants)
    }

    /// Connections of this program, or runs of the tester that the plan names.
    fn loader(
        &self,
        group: &TrialGroup,
        endpoint: &Endpoint,
        words: &[String],
    ) -> Result<Box<dyn Loader + '_>, String> {
        let trial = &group.trials[0];
        match trial.cell.settings.tester.as_deref().and_then(external) {
            Some(external) => {
                let (port, pid) = (endpoint.address.port(), endpoint.pid);
                Ok(Box::new(TesterRuns::new(self.runner, external, trial, port, pid, group.seed)?))
            }
            None => Ok(Box::new(self.generator.open(words)?)),
        }
    }

    /// Opens the connections and makes the rounds; the targets were launched at `begun`.
    fn load(
        &self,
        targets: &mut [Up],
        file: &mut SliceFile,
        begun: Instant,
        tick: &mut dyn FnMut(&str),
    ) -> Result<(), TrialError> {
        let failed = |why: String| TrialError::failed(0, why, Vec::new());
        let participants = self.participants(targets, tick)?;
        if self.is_stopped() {
            return Err(TrialError::Interrupted);
        }
        if participants.is_empty() {
            return Ok(());
        }
        tick("warming up");
        let cell = self.groups[0].cell();
        let (slicing, settings) = (&self.runner.request.plan.slicing, &cell.settings);
        let start = self.groups[0].repeat;
        let seed = seed_of(self.groups[0].seed, cell.combination());
        // Interrupts of another machine are those of its account.
        let server = if cell.placement.elsewhere { &[][..] } else { &cell.placement.server.0[..] };
        let mut rounds =
            Rounds::begin(participants, start, seed, slicing.slice.0, settings.warmup.0, server).map_err(failed)?;
        let (setup, mut so_far) = (clock::since(begun), String::new());
        let ended = session(&mut rounds, self.runner.stop, failed, |rounds, slices, made| {
            self.check(targets, rounds);
            file.add(slices)?;
            if made.rounds.is_multiple_of(LOOKS) {
                so_far = format!("; {}", text::running(&self.enough.progress(file.all())));
            }
            tick(&format!("round {}{so_far}", made.rounds));
            Ok(self.enough.of_rounds(made, setup))
        })?;
        if ended == End::Stopped {
            return Err(TrialError::Interrupted);
        }
        // The source of CPU time may change during the rounds.
        for (group, target) in self.groups.iter().zip(targets) {
            rounds.describe(&group.target.name, &mut target.env);
        }
        Ok(())
    }

    /// The record of a trial, and the words of the load on its target.
    fn words(
        &self,
        group: &TrialGroup,
        target: &Up,
        endpoint: &Endpoint,
    ) -> Result<(crate::run_directory::TrialRecord, Vec<String>), TrialError> {
        let (request, trial) = (self.runner.request, &group.trials[0]);
        let mut cell = trial.cell.clone();
        if cell.settings.external_tester().is_some() {
            cell.settings.duration.0 = request.plan.slicing.slice.0.max(LEAST_RUN);
        }
        let command = request.tester_command(&cell, endpoint, group.seed, &trial.dir);
        let (program, args) = command.map_err(|why| TrialError::failed(0, why, Vec::new()))?;
        let words = args.iter().skip(request.tester.lead.len()).cloned().collect();
        let mut record = target.context.record(trial, &target.words);
        record.tester = std::iter::once(program.display().to_string()).chain(args).collect();
        Ok((record, words))
    }

    /// Takes out targets that have ended, with the reason.
    fn check(&self, targets: &mut [Up], rounds: &mut Rounds) {
        for (group, target) in self.groups.iter().zip(targets.iter_mut()) {
            let Some(running) = &mut target.running else { continue };
            let Some(why) = running.gone() else { continue };
            target.failure = Some(target.context.target_failed(why));
            target.running = None;
            rounds.remove(&group.target.name);
        }
        for (name, why) in rounds.failures() {
            let of = self.groups.iter().position(|group| group.target.name == name);
            if let Some(target) = of.map(|index| &mut targets[index]).filter(|target| target.failure.is_none()) {
                target.failure = Some(TrialError::failed(0, why, Vec::new()));
            }
        }
    }

    /// Stops a target, runs `after`, and writes what became of its trial.
    fn finish(
        &self,
        group: &TrialGroup,
        mut target: Up,
        slices: &[Slice],
        failed: Option<&Failure>,
        interrupted: bool,
        tick: &mut dyn FnMut(&str),
    ) -> io::Result<TrialStatus> {
        let replies = slices.iter().filter(|slice| slice.target == group.target.name).map(|slice| slice.replies).sum();
        let metered = target.meter.take().map(|meter| meter.map(|mut meter| meter.close(replies, Duration::MAX)));
        let mut failure = target.failure.take();
        if let Some(running) = target.running.take() {
            failure = failure.or(target.context.stop_target(running).err());
        }
        let after = target.context.after(&mut |what| tick(what));
        failure = failure.or(after.err());
        drop(target.background.take());
        let trial = &group.trials[0];
        if interrupted || matches!(failure, Some(TrialError::Interrupted)) {
            fs::remove_dir_all(&trial.dir)?;
            return Ok(TrialStatus::Interrupted);
        }
        let failure = match failure {
            Some(TrialError::Io(error)) => return Err(error),
            Some(TrialError::Failed(_, failure)) => Some(failure),
            Some(TrialError::Interrupted) | None => failed.cloned(),
        };
        let failure = match failure {
            Some(failure) => failure,
            None => match written::result(trial, group, slices, target.load, metered, &mut target.env)? {
                Ok(result) => return Ok(TrialStatus::Done(Box::new(result))),
                Err(why) => Failure { why, log: Vec::new() },
            },
        };
        let mut statuses = Vec::new();
        write_failures(group, 0, failure, &mut statuses)?;
        Ok(statuses.remove(0))
    }
}

/// The meter of a target for the whole start. What stands behind it is in the account of its slices.
fn metered(running: &RunningTarget) -> Result<ServerMeter, String> {
    if let Some(agent) = &running.endpoint.agent {
        return Err(format!("it runs on the machine of agent {agent}, which reads its CPU time between slices"));
    }
    let alone = Scope { only_listener: true, ..Scope::default() };
    let mut meter = ServerMeter::attach_scoped(&[running.process.pid()], &[], alone)?;
    meter.open();
    Ok(meter)
}

/// The seed of a load: equal for all its targets, different for each start and load.
fn seed_of(seed: u64, load: &str) -> u64 {
    let mut hash = FnvHasher::with_key(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15));
    hash.write(load.as_bytes());
    hash.finish()
}
