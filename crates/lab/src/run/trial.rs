//! Runs the trials of one start of a target: `before`, start, wait for the first accepted connection, one tester run for
//! each phase, stop, `after`.
//!
//! Invariants: no process of a trial outlives it; the directory of each trial says how it ended: `result.json`, or
//! `failed.json` with the reason.

mod colocation;
mod external_meter;
mod hooks;
mod launch;
mod load;
mod waits;

use super::Request;
use super::endpoint::Endpoint;
use crate::clock;
use crate::fs_error::with_path;
use crate::plan::Target;
use crate::run_directory::{Failure, TrialRecord};
use crate::schedule::{Cell, Machine};
use crate::system::cgroup::MemoryCgroup;
use crate::system::ports;
use crate::system::process_group::{AffinityGuard, ProcessGroup, STOP_TIMEOUT, describe_exit, last_lines};
use crate::system::process_registry::ProcessRegistry;
use brunt_results::{RunResult, directory::Directory};
use hooks::Hook;
pub(super) use launch::TrialContext;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io, sync::Arc};
use waits::{until_freed, until_listening};

#[derive(Debug)]
pub enum TrialStatus {
    Done(Box<RunResult>),
    /// Without a result; the directory has the reason too.
    Failed(Failure),
    /// Stopped by the user; its directory is removed.
    Interrupted,
}

/// What all trials of an experiment have in common.
pub struct TrialRunner<'a> {
    pub request: &'a Request,
    pub registry: &'a Arc<ProcessRegistry>,
    pub stop: &'a AtomicBool,
}

/// The trials that share one start of a target: one, or one for each phase.
pub struct TrialGroup<'a> {
    /// In order; at least one.
    pub trials: Vec<TrialSpec<'a>>,
    pub target: &'a Target,
    /// Counted from 1.
    pub repeat: u32,
    pub seed: u64,
}

pub struct TrialSpec<'a> {
    pub cell: &'a Cell,
    /// Position in the order of the experiment, counted from 1.
    pub number: usize,
    pub dir: PathBuf,
}

impl TrialGroup<'_> {
    pub(super) fn cell(&self) -> &Cell {
        self.trials[0].cell
    }

    /// The directory of the files that all trials share.
    fn dir(&self) -> &Path {
        &self.trials[0].dir
    }

    fn max_connections(&self) -> u64 {
        self.trials.iter().map(|trial| trial.cell.connections()).max().unwrap_or(0)
    }
}

/// Why the trials of a group ended early.
pub(super) enum TrialError {
    Interrupted,
    /// The trials from this index on have no result.
    Failed(usize, Failure),
    /// One of brunt's own files or the machine failed: the next trial would fail too.
    Io(io::Error),
}

impl TrialError {
    pub(super) fn failed(from: usize, why: impl Into<String>, log: Vec<String>) -> Self {
        Self::Failed(from, Failure { why: why.into(), log })
    }

    fn usage(why: String) -> Self {
        Self::failed(0, why, Vec::new())
    }
}

impl From<io::Error> for TrialError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

type Result<T> = std::result::Result<T, TrialError>;

/// Reports the activity of the trial of this index, a few times a second.
pub(super) type Tick<'t> = dyn FnMut(usize, &'static str) + 't;

/// The target of another machine may be built first.
const START_THERE: Duration = Duration::from_secs(3600);
/// Time for the end of a target on another machine.
const STOP_THERE: Duration = Duration::from_secs(20);

/// A free port of this machine alone.
pub(super) fn free_address() -> io::Result<SocketAddr> {
    Ok((Ipv4Addr::LOCALHOST, ports::free()?).into())
}

/// Files of a trial beside those of the result.
/// The endpoint of a target on another machine, once it is up.
const ENDPOINT: &str = "endpoint.json";
pub(super) const TARGET_LOG: &str = "target.log";
pub(super) const TESTER_LOG: &str = "tester.log";
pub(super) const TESTER_OUT: &str = "tester.out";

impl TrialRunner<'_> {
    /// Runs the trials of one start and returns how each of them ended.
    pub fn run(&self, group: &TrialGroup, tick: &mut Tick) -> io::Result<Vec<TrialStatus>> {
        for trial in &group.trials {
            // A killed run may have left part of this trial.
            match fs::remove_dir_all(&trial.dir) {
                Err(e) if e.kind() != io::ErrorKind::NotFound => return Err(with_path(&trial.dir)(e)),
                _ => Directory::create(&trial.dir)?,
            };
        }
        let machine = Machine::here()?;
        let _affinity = AffinityGuard::pin(&group.cell().placement.client);
        let context = TrialContext::new(self, group, free_address()?, machine)?;

        let (mut done, mut background) = (Vec::new(), None);
        let phases = context.run_phases(&mut done, &mut background, tick);
        // `run_phases` has stopped the target, however it returned.
        let last = group.trials.len() - 1;
        let after = context.hook(Hook::After, &mut |what| tick(last, what));
        drop(background);
        match combine(phases.err(), after.err(), last) {
            None => Ok(done),
            Some(TrialError::Io(error)) => Err(error),
            Some(TrialError::Interrupted) => {
                for trial in &group.trials {
                    fs::remove_dir_all(&trial.dir).map_err(with_path(&trial.dir))?;
                }
                Ok(group.trials.iter().map(|_| TrialStatus::Interrupted).collect())
            }
            Some(TrialError::Failed(from, failure)) => {
                done.truncate(from);
                write_failures(group, from, failure, &mut done)?;
                Ok(done)
            }
        }
    }
}

/// A target that accepts connections; ended when dropped.
pub(super) struct RunningTarget {
    pub(super) process: ProcessGroup,
    cgroup: Option<MemoryCgroup>,
    pub(super) endpoint: Endpoint,
    /// Its command line.
    pub(super) words: Vec<String>,
}

impl RunningTarget {
    /// How the kernel ended a process of it for want of memory, if it did.
    pub(super) fn oom_kill(&self) -> Option<String> {
        self.cgroup.as_ref().and_then(MemoryCgroup::oom_kill)
    }

    /// Why it is gone, if it is.
    pub(super) fn gone(&mut self) -> Option<String> {
        match (self.oom_kill(), self.process.ended()) {
            (Some(cause), _) => Some(format!("a process of the target died: {cause}")),
            (None, status) => status.map(|status| format!("the target {} under load", describe_exit(status))),
        }
    }

    /// Adds to a failure that the target exceeded its memory limit, if it did.
    fn with_cause(&self, error: TrialError) -> TrialError {
        match (error, self.oom_kill()) {
            (TrialError::Failed(from, failure), Some(cause)) => {
                TrialError::Failed(from, Failure { why: format!("{}: {cause}", failure.why), ..failure })
            }
            (error, _) => error,
        }
    }
}

impl TrialContext<'_> {
    /// Everything from `before` until the target has stopped. Adds results to `done`; keeps the processes that `before`
    /// left running in `background`.
    fn run_phases(
        &self,
        done: &mut Vec<TrialStatus>,
        background: &mut Option<ProcessGroup>,
        tick: &mut Tick,
    ) -> Result<()> {
        let group = self.group;
        let mut target = self.start_target(background, tick)?;
        for (index, trial) in group.trials.iter().enumerate() {
            let mut record = self.record(trial, &target.words);
            let result = self.load(index, &mut record, &mut target, &mut |what| tick(index, what));
            let result = result.map_err(|error| target.with_cause(error))?;
            // Its other processes may have answered on, but that is no longer the server to be measured.
            if let Some(cause) = target.oom_kill() {
                return Err(TrialError::failed(index, format!("a process of the target died: {cause}"), Vec::new()));
            }
            done.push(TrialStatus::Done(Box::new(result)));
        }
        tick(group.trials.len() - 1, "stopping the target");
        self.stop_target(target)
    }

    /// Runs `before`, starts the target and waits until it accepts a connection.
    pub(super) fn start_target(&self, background: &mut Option<ProcessGroup>, tick: &mut Tick) -> Result<RunningTarget> {
        let cgroup = self.group.target.limits.memory.map(MemoryCgroup::new).transpose()?.flatten();
        let launch = self.target_launch(cgroup.as_ref())?;
        let words = launch.words();
        *background = self.hook(Hook::Before, &mut |what| tick(0, what))?;
        tick(0, "starting the target");
        let process =
            ProcessGroup::start(launch, self.runner.registry).map_err(|e| self.target_failed(e.to_string()))?;
        let endpoint = Endpoint { address: self.address, pid: process.pid(), agent: None };
        let mut target = RunningTarget { process, cgroup, endpoint, words };
        match self.wait_until_ready(&mut target, tick) {
            Ok(()) => Ok(target),
            Err(error) => Err(target.with_cause(error)),
        }
    }

    /// Runs `after`, if the target has it.
    pub(super) fn after(&self, tick: &mut dyn FnMut(&'static str)) -> Result<()> {
        self.hook(Hook::After, tick).map(drop)
    }

    /// Stops the target and waits until nothing listens on its port.
    pub(super) fn stop_target(&self, mut target: RunningTarget) -> Result<()> {
        if target.endpoint.agent.is_some() {
            target.process.stop(STOP_THERE);
            return Ok(());
        }
        target.process.stop(STOP_TIMEOUT);
        let port = self.address.port();
        match until_freed(self.group.max_connections(), || ports::is_free(port)) {
            true => Ok(()),
            false => Err(self.target_failed(format!(
                "port {port} is still taken although the target's process group is gone: it must stay in the foreground"
            ))),
        }
    }

    pub(super) fn record(&self, trial: &TrialSpec, target: &[String]) -> TrialRecord {
        TrialRecord {
            cell: trial.cell.id().to_owned(),
            repeat: self.group.repeat,
            number: trial.number,
            started_unix_s: clock::unix_s(),
            before: self.words(&self.group.target.before).unwrap_or_default(),
            target: target.to_owned(),
            tester: Vec::new(),
            after: self.words(&self.group.target.after).unwrap_or_default(),
        }
    }

    pub(super) fn target_failed(&self, why: String) -> TrialError {
        TrialError::failed(0, why, last_lines(&self.group.dir().join(TARGET_LOG), 3))
    }

    /// Waits until the target accepts connections, and learns its endpoint if it is on another machine.
    fn wait_until_ready(&self, target: &mut RunningTarget, tick: &mut Tick) -> Result<()> {
        if self.group.target.on.is_none() {
            return self.wait_until_listening(&mut target.process, tick);
        }
        let file = self.group.dir().join(ENDPOINT);
        let ready = until_listening(START_THERE, || {
            if self.runner.stop.load(Ordering::Relaxed) {
                return Some(Err(TrialError::Interrupted));
            }
            if let Ok(text) = fs::read(&file) {
                let unreadable = |error| self.target_failed(format!("{ENDPOINT}: {error}"));
                return Some(serde_json::from_slice(&text).map_err(unreadable));
            }
            if target.process.ended().is_some() {
                return Some(Err(self.target_failed("the target could not be started on its machine".to_owned())));
            }
            tick(0, "waiting for the target on its machine");
            None
        });
        let late = || Err(self.target_failed("its machine did not start the target in time".to_owned()));
        target.endpoint = ready.unwrap_or_else(late)?;
        Ok(())
    }

    fn wait_until_listening(&self, target: &mut ProcessGroup, tick: &mut Tick) -> Result<()> {
        let (address, timeout) = (self.address, self.group.target.ready_timeout);
        let listening = until_listening(timeout.0, || {
            if self.runner.stop.load(Ordering::Relaxed) {
                return Some(Err(TrialError::Interrupted));
            }
            if let Some(status) = target.ended() {
                let why = format!("the target {} before it accepted a connection", describe_exit(status));
                return Some(Err(self.target_failed(why)));
            }
            if TcpStream::connect_timeout(&address, Duration::from_millis(250)).is_ok() {
                return Some(Ok(()));
            }
            tick(0, "waiting for the target to listen");
            None
        });
        listening.unwrap_or_else(|| {
            let late = format!("the target did not listen on {address} within {timeout}");
            let remedy = "use {listen} or {port} in its command";
            let others: Vec<String> = target.listening().iter().map(SocketAddr::to_string).collect();
            Err(self.target_failed(match others.as_slice() {
                [] => late,
                others => format!("{late}: it listens on {} instead: {remedy}", others.join(", ")),
            }))
        })
    }
}

/// Joins the errors of the phases and of `after`. A failure of `after` is never hidden: what it should have undone remains.
fn combine(phases: Option<TrialError>, after: Option<TrialError>, last: usize) -> Option<TrialError> {
    match (phases, after) {
        (Some(TrialError::Io(error)), _) | (_, Some(TrialError::Io(error))) => Some(TrialError::Io(error)),
        (Some(TrialError::Failed(from, mut failure)), Some(TrialError::Failed(_, other))) => {
            failure.log.push(other.line());
            Some(TrialError::Failed(from, failure))
        }
        (None, Some(TrialError::Failed(_, failure))) => Some(TrialError::Failed(last, failure)),
        (Some(TrialError::Interrupted) | None, after @ Some(_)) => after,
        (phases, _) => phases,
    }
}

/// Records the failure of the trial at `from` and of those that should have followed it.
pub(super) fn write_failures(
    group: &TrialGroup,
    from: usize,
    failure: Failure,
    statuses: &mut Vec<TrialStatus>,
) -> io::Result<()> {
    let phase = group.trials[from].cell.phase().unwrap_or_default();
    let following = Failure { why: format!("phase '{phase}' failed: {}", failure.line()), log: Vec::new() };
    for (index, trial) in group.trials.iter().enumerate().skip(from) {
        let failure = if index == from { &failure } else { &following };
        // A failed trial must not leave a file that could pass for a result.
        let _ = fs::remove_file(trial.dir.join("result.json"));
        Directory::open(&trial.dir).write_json("failed.json", failure)?;
        statuses.push(TrialStatus::Failed(failure.clone()));
    }
    Ok(())
}
