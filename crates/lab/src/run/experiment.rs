//! An experiment from its first trial to its last: what is done is kept, what is not is run, in the recorded order.

use crate::{
    Error,
    plan::{Plan, Target},
    run::{
        build::{NotBuilt, build},
        observer::{Event, Observer, TrialProgress},
        trial::{SpeedProbe, TrialGroup, TrialRunner, TrialSpec, TrialStatus},
    },
    run_directory::{
        Experiment, Failure, RunDirectory, SCHEMA, TrialOutcome, TrialRecord,
        machine_speed::{SpeedBaseline, is_better},
    },
    schedule::{Cells, Schedule, ScheduledTrial},
    system::{cgroup, ports::Ports, process_registry::ProcessRegistry},
    testers::Tester,
};
use brunt_results::{directory::Directory, verdict::Kind};
use std::{
    collections::{BTreeMap, btree_map::Entry},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// What is asked for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The plan.
    pub plan: Plan,
    /// Its text, for the record.
    pub plan_text: String,
    /// The folder that the plan's paths start from.
    pub base: PathBuf,
    /// The directory of the run.
    pub out: PathBuf,
    /// Throw away what an earlier run left there.
    pub fresh: bool,
    /// Makes the load.
    pub tester: Tester,
    /// The binary whose `serve` is a target.
    pub brunt: PathBuf,
    /// Tells the machine's pace beside each trial.
    pub speed_probe: SpeedProbe,
    /// The command line as typed.
    pub command: Vec<String>,
}

/// How an experiment went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Summary {
    /// It was ended on request before its last trial.
    pub interrupted: bool,
    /// Trials that had a result when it began.
    pub resumed: usize,
    /// Trials run now.
    pub run: usize,
}

/// Runs the trials of a schedule that have no result yet.
pub fn run(
    request: &Request,
    schedule: &Schedule,
    watch: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<Summary, Error> {
    let store = RunDirectory::at(&request.out);
    if schedule.order.is_empty() {
        let mut lines = crate::schedule::skipped_lines(&schedule.skipped);
        lines.extend(schedule.filtered_line());
        return Err(Error::Failed(format!("nothing can be run here\n{}", lines.join("\n"))));
    }
    let _lock = store.open()?;
    let (ledger, cleaned) = ProcessRegistry::open(&store.ledger())?;
    cgroup::remove_orphans();
    if cleaned > 0 {
        watch.on_event(&Event::OrphansKilled(cleaned));
    }
    begin(request, schedule, &store)?;

    let todo = schedule.todo(|slot| store.is_done(&schedule.cell(*slot).id, slot.repeat));
    let resumed = schedule.order.len() - todo.iter().map(|(_, start)| start.len()).sum::<usize>();
    let mut finish = Summary { interrupted: false, resumed, run: 0 };
    let mut runner = Runner {
        request,
        schedule,
        store: &store,
        ledger: Arc::new(ledger),
        stop,
        ports: Ports::new(),
        unbuilt: BTreeMap::new(),
        overhead: Duration::ZERO,
        run: 0,
    };
    if runner.build(&todo, watch).is_err() {
        finish.interrupted = true;
        return Ok(finish);
    }
    finish.interrupted = !runner.trials(&todo, watch)?;
    for _ in 0..request.plan.retries {
        let disturbed = if finish.interrupted { Vec::new() } else { runner.disturbed()? };
        if disturbed.is_empty() {
            break;
        }
        watch.on_event(&Event::Retrying(disturbed.iter().map(|(_, start)| start.len()).sum()));
        finish.interrupted = !runner.again(&disturbed, watch)?;
    }
    finish.run = runner.run;
    Ok(finish)
}

/// Writes down what will be run; refuses to mix two plans in one directory.
fn begin(request: &Request, schedule: &Schedule, store: &RunDirectory) -> Result<(), Error> {
    let hash = request.plan.hash();
    let mut started = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |t| t.as_secs());
    let mut repeats = schedule.repeats;
    if request.fresh {
        store.clear()?;
    } else if let Some(earlier) = store.experiment()? {
        if earlier.plan_hash != hash {
            return Err(Error::Usage(format!(
                "{} holds trials of another plan, or of another version of it ('{}'): --fresh throws them away and starts over, --out DIR leaves them alone",
                store.path().display(),
                earlier.name
            )));
        }
        started = earlier.started_unix_s;
        repeats = repeats.max(earlier.repeats);
    }
    let name = |slot: &ScheduledTrial| format!("{}/{}", schedule.cell(*slot).id, slot.repeat);
    let experiment = Experiment {
        schema: SCHEMA.to_owned(),
        name: request.plan.name.clone(),
        description: request.plan.description.clone(),
        plan_hash: hash,
        seed: request.plan.seed,
        repeats,
        best_over: request.plan.best_over.clone(),
        baseline: request.plan.baseline.clone(),
        style: request.plan.style,
        command: request.command.clone(),
        started_unix_s: started,
        cells: Cells { skipped: schedule.skipped.clone(), ..schedule.all.clone() },
        order: schedule.order.iter().map(name).collect(),
    };
    Ok(store.begin(&experiment, &request.plan_text)?)
}

/// The trials of one start of a target, and the place of the first in the order.
type Start<'a> = (usize, &'a [ScheduledTrial]);

struct Runner<'a> {
    request: &'a Request,
    schedule: &'a Schedule,
    store: &'a RunDirectory,
    ledger: Arc<ProcessRegistry>,
    stop: &'a AtomicBool,
    ports: Ports,
    /// Targets that could not be built, and why.
    unbuilt: BTreeMap<String, String>,
    /// What the trials so far took beside their load, all together.
    overhead: Duration,
    /// How many there were.
    run: usize,
}

impl<'a> Runner<'a> {
    /// Builds every target that has a trial to come, and what several have in common once; an error means that the run
    /// is to end.
    fn build(&mut self, todo: &[Start], watch: &mut dyn Observer) -> Result<(), NotBuilt> {
        let mut built: BTreeMap<(&Option<String>, &[String]), Option<String>> = BTreeMap::new();
        for target in self.request.plan.targets.iter().filter(|target| !target.build.is_empty()) {
            if !todo.iter().any(|(_, start)| self.schedule.cell(start[0]).target == target.name) {
                continue;
            }
            let why = match built.entry((&target.dir, target.build.as_slice())) {
                Entry::Occupied(known) => known.into_mut(),
                Entry::Vacant(new) => new.insert(self.build_one(target, watch)?),
            };
            if let Some(why) = why {
                self.unbuilt.insert(target.name.clone(), why.clone());
            }
        }
        Ok(())
    }

    /// Builds a target; `Some` is why that failed.
    fn build_one(&self, target: &Target, watch: &mut dyn Observer) -> Result<Option<String>, NotBuilt> {
        watch.on_event(&Event::Building { target: &target.name, command: target.build.join(" ") });
        let log = self.store.build_log(&target.name);
        match build(target, &self.request.base, &log, &self.ledger, self.stop) {
            Ok(()) => Ok(None),
            Err(NotBuilt::Failed(why)) => {
                watch.on_event(&Event::BuildFailed { target: &target.name, why: &why });
                Ok(Some(why))
            }
            Err(interrupted) => Err(interrupted),
        }
    }

    /// Runs these trials; false if that was interrupted.
    fn trials(&mut self, todo: &[Start], watch: &mut dyn Observer) -> Result<bool, Error> {
        for done in 0..todo.len() {
            if !self.next(&todo[done..], watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The trials whose result was disturbed and that may be run again, with those that share their start.
    fn disturbed(&self) -> Result<Vec<Start<'a>>, Error> {
        let Some(experiment) = self.store.experiment()? else { return Ok(Vec::new()) };
        let paces = SpeedBaseline::of(self.store, &experiment);
        let is_fine = |slot: &ScheduledTrial| {
            let cell = self.schedule.cell(*slot);
            let kept = paces.outcome(self.store, cell, slot.repeat);
            !matches!(kept, Some(TrialOutcome::Done(result)) if result.verdict.kind == Kind::Disturbed)
                || self.store.archived_attempts(&cell.id, slot.repeat) >= self.request.plan.retries
        };
        Ok(self.schedule.todo(is_fine))
    }

    /// Runs disturbed trials again. One that ended undisturbed counts, else the one at the better pace, and the other is
    /// kept beside it: which one that is must not depend on what was measured. Phases of one start stay together.
    fn again(&mut self, trials: &[Start], watch: &mut dyn Observer) -> Result<bool, Error> {
        for (done, (_, start)) in trials.iter().enumerate() {
            let names: Vec<(&str, u32)> =
                start.iter().map(|slot| (self.schedule.cell(*slot).id.as_str(), slot.repeat)).collect();
            for (cell, repeat) in &names {
                self.store.archive_attempt(cell, *repeat)?;
            }
            let whole = self.next(&trials[done..], watch)?;
            let pace = |record: Option<TrialRecord>| record?.speed;
            let kept: Vec<Option<TrialOutcome>> =
                names.iter().map(|(cell, repeat)| self.store.outcome(cell, *repeat)).collect();
            let is_fine = kept
                .iter()
                .all(|now| matches!(now, Some(TrialOutcome::Done(result)) if result.verdict.kind != Kind::Disturbed));
            let is_done = kept.iter().all(|now| matches!(now, Some(TrialOutcome::Done(_))));
            let (cell, repeat) = names[0];
            let is_worse =
                is_better(pace(self.store.archived_record(cell, repeat)), pace(self.store.record(cell, repeat)));
            if !is_fine && (is_worse || !is_done) {
                for (cell, repeat) in &names {
                    self.store.swap_archived(cell, *repeat)?;
                }
            }
            if !whole {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the trials of the first of these starts and tells of them; false if that was interrupted.
    fn next(&mut self, rest: &[Start], watch: &mut dyn Observer) -> Result<bool, Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let (first, start) = rest[0];
        let (schedule, total) = (self.schedule, self.schedule.order.len());
        let target = schedule.cell(start[0]).target.as_str();
        let target = self.request.plan.targets.iter().find(|known| known.name == target);
        let target = target.expect("cells are made of the plan's own targets");
        let slots: Vec<ScheduledTrial> = rest.iter().flat_map(|(_, start)| start.iter().copied()).collect();
        let whole = schedule.time(&slots, self.overhead.checked_div(self.run as u32));
        let since = Instant::now();
        let place = |step: usize, left: Duration| {
            let (cell, repeat) = (schedule.cell(start[step]), start[step].repeat);
            TrialProgress { number: first + step + 1, total, cell, repeat, left }
        };
        let step = |index: usize| {
            let TrialProgress { number, cell, repeat, .. } = place(index, whole);
            TrialSpec { cell, number, dir: self.store.trial(&cell.id, repeat) }
        };
        let steps: Vec<TrialSpec> = (0..start.len()).map(step).collect();
        watch.on_event(&Event::TrialStarted(place(0, whole)));
        let ends = match self.unbuilt.get(&target.name) {
            Some(why) => {
                let failure = Failure { why: why.clone(), log: Vec::new() };
                for step in &steps {
                    Directory::create(&step.dir)?.write_json("failed.json", &failure)?;
                }
                steps.iter().map(|_| TrialStatus::Failed(failure.clone())).collect()
            }
            None => {
                let bench = TrialRunner {
                    tester: &self.request.tester,
                    added: &self.request.plan.testers,
                    brunt: &self.request.brunt,
                    base: &self.request.base,
                    speed_probe: self.request.speed_probe,
                    ledger: &self.ledger,
                    stop: self.stop,
                };
                let repeat = start[0].repeat;
                // The same for every target and cell of a repeat, so that all face the same load.
                let seed = self.request.plan.seed.wrapping_add(u64::from(repeat) - 1);
                let job = TrialGroup { steps, target, repeat, seed };
                bench.run(&job, &mut self.ports, &mut |step, what| {
                    watch.on_event(&Event::TrialRunning {
                        place: place(step, whole.saturating_sub(since.elapsed())),
                        what,
                    });
                })?
            }
        };
        let took = since.elapsed();
        let load: Duration = start.iter().map(|slot| schedule.cell(*slot).load_time()).sum();
        self.overhead += took.saturating_sub(load);
        let interrupted = ends.iter().any(|end| matches!(end, TrialStatus::Interrupted));
        self.run += if interrupted { 0 } else { start.len() };
        let overhead = self.overhead.checked_div(self.run as u32);
        let left = schedule.time(&slots[start.len()..], overhead);
        for (index, end) in ends.iter().enumerate() {
            let share = schedule.cell(start[index]).load_time().as_secs_f64() / load.as_secs_f64();
            let took = took.mul_f64(share);
            watch.on_event(&Event::TrialFinished { place: place(index, left), end, took });
        }
        // What fails while the run is to end has failed at ending.
        let ending = self.stop.load(Ordering::Relaxed) && ends.iter().any(|end| matches!(end, TrialStatus::Failed(_)));
        Ok(!interrupted && !ending)
    }
}
