//! Runs an experiment: keeps the results there are, runs the missing trials in the recorded order.

mod slices;
mod starts;
mod time_left;

use super::build::build;
use super::trial::{TrialGroup, TrialRunner, TrialSpec, TrialStatus};
use super::{Event, Observer, Request, TrialProgress};
use crate::clock;
use crate::plan::Target;
use crate::run_directory::{Experiment, Failure, RunDirectory, SCHEMA};
use crate::schedule::{Cells, Estimator, Schedule, ScheduledTrial, skipped_lines};
use crate::system::process_registry::ProcessRegistry;
use brunt_results::{Error, directory::Directory, regime::Regime};
use starts::{Processes, Starts};
use std::collections::{BTreeMap, btree_map::Entry};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use time_left::TimeLeft;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    pub interrupted: bool,
    pub resumed: usize,
    pub run: usize,
}

/// Runs the trials of a schedule that have no result yet.
pub fn run(
    request: &Request,
    schedule: &Schedule,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Summary, Error> {
    run_by(&Processes, request, schedule, observer, stop)
}

fn run_by(
    starts: &dyn Starts,
    request: &Request,
    schedule: &Schedule,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Summary, Error> {
    let run_dir = RunDirectory::at(&request.out);
    if schedule.order.is_empty() {
        let mut lines = skipped_lines(&schedule.skipped);
        lines.extend(schedule.filtered_line());
        return Err(Error::Failed(format!("nothing can be run here\n{}", lines.join("\n"))));
    }
    let _lock = run_dir.open()?;
    let (registry, orphans) = ProcessRegistry::open(&run_dir.registry_file())?;
    brunt_meter::cgroup::remove_orphans();
    if orphans > 0 {
        observer.on_event(&Event::OrphansKilled(orphans));
    }
    let total = begin(request, schedule, &run_dir)?;

    let is_done = |trial: &ScheduledTrial| run_dir.is_done(schedule.cell(*trial).id(), trial.repeat);
    let todo = schedule.todo(is_done);
    let resumed = schedule.order.len() - todo.iter().map(|(_, start)| start.len()).sum::<usize>();
    let time_left = request.is_sliced().then(|| slices::time_left(request, schedule, &run_dir)).transpose()?;
    let mut runner = Runner {
        starts,
        request,
        schedule,
        run_dir: &run_dir,
        registry: Arc::new(registry),
        observer,
        stop,
        unbuilt: BTreeMap::new(),
        estimator: Estimator::default(),
        time_left,
        regime: regime(starts, request, schedule, &todo),
        total,
        run: 0,
    };
    let completed =
        runner.build(&todo).is_ok() && runner.run_all(&todo)? && (!request.is_sliced() || runner.add_starts()?);
    Ok(Summary { interrupted: !completed, resumed, run: runner.run })
}

/// What CPU time contains here, if slices are to come: measured for a second on a core of the targets.
fn regime(starts: &dyn Starts, request: &Request, schedule: &Schedule, todo: &[Start]) -> Option<Regime> {
    let (_, start) = todo.first().filter(|_| request.is_sliced())?;
    let core = *schedule.cell(start[0]).placement.server.0.first()?;
    starts.regime(core)
}

/// Writes `experiment.json` and returns the number of its trials; refuses to mix two plans in one directory.
fn begin(request: &Request, schedule: &Schedule, run_dir: &RunDirectory) -> Result<usize, Error> {
    let plan_hash = request.plan.hash();
    let mut started_unix_s = clock::unix_s();
    let mut repeats = schedule.repeats;
    let mut order: Vec<String> = schedule.order.iter().map(|trial| schedule.name(*trial)).collect();
    if request.fresh {
        run_dir.clear()?;
    } else if let Some(earlier) = run_dir.experiment()? {
        if earlier.plan_hash != plan_hash {
            return Err(Error::Usage(format!(
                "{} holds trials of another plan, or of another version of it ('{}'): --fresh removes them and starts over, --out DIR uses another directory",
                run_dir.path().display(),
                earlier.name
            )));
        }
        started_unix_s = earlier.started_unix_s;
        repeats = repeats.max(earlier.repeats);
        let number = |trial: &String| trial.rsplit_once('/').and_then(|(_, repeat)| repeat.parse::<u32>().ok());
        order.extend(earlier.order.into_iter().filter(|trial| number(trial) > Some(schedule.repeats)));
    }
    let experiment = Experiment {
        schema: SCHEMA.to_owned(),
        name: request.plan.name.clone(),
        description: request.plan.description.clone(),
        plan_hash,
        seed: request.plan.seed,
        repeats,
        best_over: request.plan.best_over.clone(),
        baseline: request.plan.baseline.clone(),
        style: request.plan.style,
        command: request.command.clone(),
        started_unix_s,
        cells: Cells { skipped: schedule.skipped.clone(), ..schedule.all.clone() },
        order,
        margin: request.is_sliced().then_some(request.plan.slicing.margin),
        precision: request.is_sliced().then(|| request.plan.slicing.precision()),
    };
    run_dir.begin(&experiment, &request.plan_text)?;
    Ok(experiment.order.len())
}

/// The trials of one start of a target, and the position of the first in the order.
type Start<'a> = (usize, &'a [ScheduledTrial]);

/// The user stopped the run.
struct Interrupted;

struct Runner<'a> {
    starts: &'a dyn Starts,
    request: &'a Request,
    schedule: &'a Schedule,
    run_dir: &'a RunDirectory,
    registry: Arc<ProcessRegistry>,
    observer: &'a mut dyn Observer,
    stop: &'a AtomicBool,
    /// Targets that could not be built, and why.
    unbuilt: BTreeMap<String, String>,
    estimator: Estimator,
    /// Of a sliced experiment.
    time_left: Option<TimeLeft>,
    /// Of a sliced experiment.
    regime: Option<Regime>,
    /// Trials of the schedule, and those of added starts.
    total: usize,
    run: usize,
}

impl<'a> Runner<'a> {
    /// Builds every target that has a trial to come; a build that several targets share runs once.
    fn build(&mut self, todo: &[Start]) -> Result<(), Interrupted> {
        let mut built: BTreeMap<(&Option<String>, &[String]), Option<String>> = BTreeMap::new();
        for target in self.request.plan.targets.iter().filter(|target| !target.build.is_empty()) {
            let is_its = |trial: &ScheduledTrial| self.schedule.cell(*trial).target == target.name;
            if !todo.iter().flat_map(|(_, start)| *start).any(is_its) {
                continue;
            }
            let why = match built.entry((&target.dir, target.build.as_slice())) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.build_one(target)?),
            };
            if let Some(why) = why {
                self.unbuilt.insert(target.name.clone(), why.clone());
            }
        }
        Ok(())
    }

    /// The reason if the build has failed.
    fn build_one(&mut self, target: &Target) -> Result<Option<String>, Interrupted> {
        self.observer.on_event(&Event::Building { target: &target.name, command: target.build.join(" ") });
        let log = self.run_dir.build_log(&target.name);
        let why = match build(target, &self.request.base, &log, &self.registry, self.stop) {
            None => return Err(Interrupted),
            Some(Ok(())) => return Ok(None),
            Some(Err(why)) => why,
        };
        self.observer.on_event(&Event::BuildFailed { target: &target.name, why: &why });
        Ok(Some(why))
    }

    /// Runs these trials; false if the user stopped the run.
    fn run_all(&mut self, todo: &[Start]) -> Result<bool, Error> {
        for done in 0..todo.len() {
            if !self.run_next(&todo[done..])? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the trials of the first of these starts; false if the user stopped the run.
    fn run_next(&mut self, rest: &[Start]) -> Result<bool, Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let (first, start) = rest[0];
        let (schedule, total) = (self.schedule, self.total);
        let trials: Vec<ScheduledTrial> = rest.iter().flat_map(|(_, start)| start.iter().copied()).collect();
        let progress = |index: usize, left: Duration| TrialProgress {
            number: first + index + 1,
            total,
            cell: schedule.cell(start[index]),
            repeat: start[index].repeat,
            by_slices: schedule.budget.is_some(),
            left,
        };
        let estimate = self.left(&trials);
        let begun = clock::now();
        self.observer.on_event(&Event::TrialStarted(progress(0, estimate)));
        let now = |index| progress(index, estimate.saturating_sub(clock::since(begun)));
        let statuses = match self.request.generator.clone().filter(|_| self.request.is_sliced()) {
            Some(generator) => self.run_slices(&*generator, first, start, &now)?,
            None => self.run_start(first, start, &now)?,
        };
        let took = clock::since(begun);
        let load: Duration = start.iter().map(|trial| schedule.load_time(*trial)).sum();
        let interrupted = statuses.iter().any(|status| matches!(status, TrialStatus::Interrupted));
        let run = if interrupted { 0 } else { start.len() };
        self.run += run;
        self.estimator.observe(took.saturating_sub(load), run);
        let left = self.left(&trials[start.len()..]);
        for (index, status) in statuses.iter().enumerate() {
            let share = schedule.load_time(start[index]).as_secs_f64() / load.as_secs_f64();
            let took = took.mul_f64(share);
            self.observer.on_event(&Event::TrialFinished { trial: progress(index, left), status, took });
        }
        // A trial that fails while the run is being stopped has failed because of that.
        let failed = statuses.iter().any(|status| matches!(status, TrialStatus::Failed(_)));
        let ended = interrupted || failed && self.stop.load(Ordering::Relaxed);
        Ok(!ended)
    }

    /// Time for these trials; by slices, for all that the run has to do.
    fn left(&self, trials: &[ScheduledTrial]) -> Duration {
        match &self.time_left {
            Some(time) => time.left(),
            None => self.estimator.time(self.schedule, trials),
        }
    }

    /// The trials of a start that begins at this position of the order.
    fn specs(&self, first: usize, start: &[ScheduledTrial]) -> Vec<TrialSpec<'a>> {
        let spec = |(index, trial): (usize, &ScheduledTrial)| {
            let cell = self.schedule.cell(*trial);
            TrialSpec { cell, number: first + index + 1, dir: self.run_dir.trial(cell.id(), trial.repeat) }
        };
        start.iter().enumerate().map(spec).collect()
    }

    /// Trials of one target, at least one.
    fn group(&self, trials: Vec<TrialSpec<'a>>, repeat: u32) -> TrialGroup<'a> {
        let target = self.request.plan.targets.iter().find(|known| known.name == trials[0].cell.target);
        let target = target.expect("cells are made of the plan's own targets");
        // The same for every target and cell of a repeat, so that all get the same load.
        let seed = self.request.plan.seed.wrapping_add(u64::from(repeat) - 1);
        TrialGroup { trials, target, repeat, seed }
    }

    /// Records a trial of a target that could not be built as failed; `None` if it was built.
    fn fail_unbuilt(&self, trial: &TrialSpec) -> Result<Option<TrialStatus>, Error> {
        let Some(why) = self.unbuilt.get(&trial.cell.target) else { return Ok(None) };
        let failure = Failure { why: why.clone(), log: Vec::new() };
        Directory::create(&trial.dir)?.write_json("failed.json", &failure)?;
        Ok(Some(TrialStatus::Failed(failure)))
    }

    /// Runs the trials of one start and returns how each ended.
    fn run_start(
        &mut self,
        first: usize,
        start: &[ScheduledTrial],
        progress: &dyn Fn(usize) -> TrialProgress<'a>,
    ) -> Result<Vec<TrialStatus>, Error> {
        let trials = self.specs(first, start);
        let failed = trials.iter().filter_map(|trial| self.fail_unbuilt(trial).transpose());
        let failed = failed.collect::<Result<Vec<_>, Error>>()?;
        if !failed.is_empty() {
            return Ok(failed);
        }
        let group = self.group(trials, start[0].repeat);
        let runner = TrialRunner { request: self.request, registry: &self.registry, stop: self.stop };
        let observer = &mut self.observer;
        Ok(self.starts.trials(&runner, &group, &mut |index, activity| {
            observer.on_event(&Event::TrialRunning { trial: progress(index), activity });
        })?)
    }
}

#[cfg(test)]
mod tests;
