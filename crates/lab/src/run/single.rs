//! One target of a plan that is up with its connections open, for a caller that chooses its slices.
//!
//! Invariant: no process outlives [`SingleTarget::with`].

use super::sliced::written;
use super::trial::{TrialContext, TrialError, TrialGroup, TrialRunner, free_address};
use crate::schedule::Machine;
use crate::slices::Generator;
use crate::slices::participant::Participant;
use crate::system::process_group::{AffinityGuard, ProcessGroup};
use brunt_results::directory::Directory;
use brunt_results::result::{Load, Server};
use brunt_results::{Error, RunResult, judge::judge};
use brunt_slices::{Slice, absolute};
use std::fs;
use std::path::Path;
use std::sync::atomic::Ordering;

/// Says why a target is gone, if it is.
pub(crate) type Gone<'a> = dyn FnMut() -> Option<String> + 'a;

/// A target with the load that opens its connections.
pub(crate) struct SingleTarget<'a> {
    pub(crate) runner: &'a TrialRunner<'a>,
    pub(crate) generator: &'a dyn Generator,
    /// One trial, whose directory takes the log of the target.
    pub(crate) group: &'a TrialGroup<'a>,
}

impl SingleTarget<'_> {
    /// Starts the target, opens the connections, calls `work` and stops the target; `None` if it was interrupted.
    pub(crate) fn with<T>(
        &self,
        work: impl FnOnce(Participant, &mut Gone<'_>) -> Result<Option<T>, Error>,
    ) -> Result<Option<T>, Error> {
        Directory::create(&self.group.trials[0].dir)?;
        let _affinity = AffinityGuard::pin(&self.group.cell().placement.client);
        let context = TrialContext::new(self.runner, self.group, free_address()?, Machine::here()?)?;
        let mut background = None;
        let done = self.start_and(&context, &mut background, work);
        let after = context.after(&mut |_| ());
        drop(background);
        let done = match done {
            Err(TrialError::Interrupted) => Ok(None),
            done => done,
        };
        match (done, after) {
            (Err(error), _) | (Ok(_), Err(error)) => Err(failure(error)),
            (Ok(done), Ok(())) => done.transpose(),
        }
    }

    fn start_and<T>(
        &self,
        context: &TrialContext,
        background: &mut Option<ProcessGroup>,
        work: impl FnOnce(Participant, &mut Gone<'_>) -> Result<Option<T>, Error>,
    ) -> Result<Option<Result<T, Error>>, TrialError> {
        let mut running = context.start_target(background, &mut |_, _| ())?;
        let endpoint = running.endpoint.clone();
        let request = self.runner.request;
        let trial = &self.group.trials[0];
        let command = request.tester_command(trial.cell, &endpoint, self.group.seed, &trial.dir);
        let (_, args) = command.map_err(|why| TrialError::failed(0, why, Vec::new()))?;
        let words = &args[request.tester.lead.len()..];
        let opened = self.generator.open(words);
        let connections = match opened {
            Err(_) if self.runner.stop.load(Ordering::Relaxed) => return Err(TrialError::Interrupted),
            opened => opened.map_err(|why| context.target_failed(why))?,
        };
        let name = self.group.target.name.clone();
        let scope = self.group.target.service.scope().map_err(|why| context.target_failed(why))?;
        let server = endpoint.account(scope, self.generator, words);
        let loader = Box::new(connections);
        let participant = Participant { name, loader, process: Some(endpoint.pid), server, freezable: None };
        let done = work(participant, &mut || running.gone());
        context.stop_target(running)?;
        Ok(done.transpose())
    }
}

fn failure(error: TrialError) -> Error {
    match error {
        TrialError::Io(error) => error.into(),
        TrialError::Failed(_, failure) => Error::Failed(failure.line()),
        TrialError::Interrupted => Error::Failed("interrupted".to_owned()),
    }
}

/// Writes `result.json`, `latency.hlog` and `env.json` of these slices at one rate.
pub(crate) fn write_slices(dir: &Path, slices: &[&Slice], load: &Load, rate: f64) -> Result<RunResult, Error> {
    fs::create_dir_all(dir)?;
    let directory = Directory::open(dir);
    let mut result = absolute::result(slices, load.clone(), Server::default(), &[]).map_err(Error::Failed)?;
    result.requests.offered_rate = Some(rate);
    result.connections.peak = load.connections;
    result.connections.opened = load.connections;
    let mut env = brunt_meter::environment::collect();
    env.absent.extend(brunt_meter::server::all_absent("not measured by slices"));
    env.absent.extend(written::absent(&result));
    result.verdict = judge(&result, None);
    directory.write_hlog(&written::hlog(slices, false).map_err(Error::Failed)?)?;
    directory.write_env(&env)?;
    directory.write_result(&result)?;
    Ok(result)
}
