//! An experiment from its first trial to its last: what is done is kept, what is not is run, in the recorded order.

use crate::{
    Error,
    cells::Cells,
    ledger::Ledger,
    order::Slot,
    pace::{Paces, Timer, is_better},
    plan::{Plan, Target},
    port::Ports,
    prepare::{NotBuilt, build},
    report::Live,
    schedule::Schedule,
    store::{Experiment, Kept, SCHEMA, Store},
    tester::Tester,
    trial::{Bench, End, Failure, Job},
    watch::{Event, Place, Watch},
};
use outcome::{directory::Directory, verdict::Kind};
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
    pub pace: Timer,
    /// The command line as typed.
    pub command: Vec<String>,
}

/// How an experiment went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Finish {
    /// It was ended on request before its last trial.
    pub interrupted: bool,
    /// Trials that had a result when it began.
    pub resumed: usize,
    /// Trials run now.
    pub run: usize,
}

/// Runs the trials of a schedule that have no result yet.
pub fn run(request: &Request, schedule: &Schedule, watch: &mut dyn Watch, stop: &AtomicBool) -> Result<Finish, Error> {
    let store = Store::at(&request.out);
    if schedule.order.is_empty() {
        let lines = crate::schedule::skipped_lines(&schedule.skipped);
        return Err(Error::Failed(format!("nothing can be run here\n{}", lines.join("\n"))));
    }
    let _lock = store.open()?;
    let (ledger, cleaned) = Ledger::open(&store.ledger())?;
    if cleaned > 0 {
        watch.saw(Event::Cleaned(cleaned));
    }
    begin(request, schedule, &store)?;

    let total = schedule.order.len();
    let todo: Vec<(usize, Slot)> = schedule
        .order
        .iter()
        .copied()
        .enumerate()
        .filter(|(_, slot)| !store.is_done(&schedule.cell(*slot).id, slot.repeat))
        .collect();
    let mut finish = Finish { interrupted: false, resumed: total - todo.len(), run: 0 };
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
        live: Live::new(),
    };
    if runner.build(&todo, watch).is_err() {
        finish.interrupted = true;
        return Ok(finish);
    }
    finish.interrupted = !runner.trials(&todo, total, watch)?;
    for _ in 0..request.plan.again {
        let disturbed = if finish.interrupted { Vec::new() } else { runner.disturbed()? };
        if disturbed.is_empty() {
            break;
        }
        watch.saw(Event::Again(disturbed.len()));
        finish.interrupted = !runner.again(&disturbed, total, watch)?;
    }
    finish.run = runner.run;
    Ok(finish)
}

/// Writes down what will be run; refuses to mix two plans in one directory.
fn begin(request: &Request, schedule: &Schedule, store: &Store) -> Result<(), Error> {
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
    let name = |slot: &Slot| format!("{}/{}", schedule.cell(*slot).id, slot.repeat);
    let experiment = Experiment {
        schema: SCHEMA.to_owned(),
        name: request.plan.name.clone(),
        description: request.plan.description.clone(),
        plan_hash: hash,
        seed: request.plan.seed,
        repeats,
        best_over: request.plan.best_over.clone(),
        baseline: request.plan.baseline.clone(),
        command: request.command.clone(),
        started_unix_s: started,
        cells: Cells { run: schedule.all.run.clone(), skipped: schedule.skipped.clone() },
        order: schedule.order.iter().map(name).collect(),
    };
    Ok(store.begin(&experiment, &request.plan_text)?)
}

struct Runner<'a> {
    request: &'a Request,
    schedule: &'a Schedule,
    store: &'a Store,
    ledger: Arc<Ledger>,
    stop: &'a AtomicBool,
    ports: Ports,
    /// Targets that could not be built, and why.
    unbuilt: BTreeMap<String, String>,
    /// What the trials so far took beside their load, all together.
    overhead: Duration,
    /// How many there were.
    run: usize,
    /// Shows what there is so far.
    live: Live,
}

impl Runner<'_> {
    /// Builds every target that has a trial to come, and what several have in common once; an error means that the run
    /// is to end.
    fn build(&mut self, todo: &[(usize, Slot)], watch: &mut dyn Watch) -> Result<(), NotBuilt> {
        let mut built: BTreeMap<(&Option<String>, &[String]), Option<String>> = BTreeMap::new();
        for target in self.request.plan.targets.iter().filter(|target| !target.build.is_empty()) {
            if !todo.iter().any(|(_, slot)| self.schedule.cell(*slot).target == target.name) {
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
    fn build_one(&self, target: &Target, watch: &mut dyn Watch) -> Result<Option<String>, NotBuilt> {
        watch.saw(Event::Building { target: &target.name, command: target.build.join(" ") });
        let log = self.store.build_log(&target.name);
        match build(target, &self.request.base, &log, &self.ledger, self.stop) {
            Ok(()) => Ok(None),
            Err(NotBuilt::Failed(why)) => {
                watch.saw(Event::BuildFailed { target: &target.name, why: &why });
                Ok(Some(why))
            }
            Err(interrupted) => Err(interrupted),
        }
    }

    /// Runs these trials, each with its place in the order; false if that was interrupted.
    fn trials(&mut self, todo: &[(usize, Slot)], total: usize, watch: &mut dyn Watch) -> Result<bool, Error> {
        for done in 0..todo.len() {
            if !self.next(&todo[done..], total, watch)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs the first of these trials; false if that was interrupted.
    fn next(&mut self, rest: &[(usize, Slot)], total: usize, watch: &mut dyn Watch) -> Result<bool, Error> {
        if self.stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let (index, slot) = rest[0];
        let cell = self.schedule.cell(slot);
        let place = Place { number: index + 1, total, cell, repeat: slot.repeat, left: Duration::ZERO };
        let slots: Vec<Slot> = rest.iter().map(|(_, slot)| *slot).collect();
        self.trial(place, &slots, watch)
    }

    /// The trials whose result was disturbed and that may be run again.
    fn disturbed(&self) -> Result<Vec<(usize, Slot)>, Error> {
        let Some(experiment) = self.store.experiment()? else { return Ok(Vec::new()) };
        let paces = Paces::of(self.store, &experiment);
        let is_disturbed = |slot: &Slot| {
            let cell = self.schedule.cell(*slot);
            let kept = paces.kept(self.store, cell, slot.repeat);
            matches!(kept, Some(Kept::Done(result)) if result.verdict.kind == Kind::Disturbed)
                && self.store.asides(&cell.id, slot.repeat) < self.request.plan.again
        };
        Ok(self.schedule.order.iter().copied().enumerate().filter(|(_, slot)| is_disturbed(slot)).collect())
    }

    /// Runs disturbed trials again. One that ended undisturbed counts, else the one at the better pace, and the other is
    /// kept beside it: which one that is must not depend on what was measured.
    fn again(&mut self, trials: &[(usize, Slot)], total: usize, watch: &mut dyn Watch) -> Result<bool, Error> {
        for (done, trial) in trials.iter().enumerate() {
            let (cell, repeat) = (&self.schedule.cell(trial.1).id, trial.1.repeat);
            self.store.set_aside(cell, repeat)?;
            let whole = self.next(&trials[done..], total, watch)?;
            let pace = |record: Option<crate::trial::Record>| record?.pace;
            let earlier = pace(self.store.record_aside(cell, repeat));
            let now = self.store.kept(cell, repeat);
            let is_fine = matches!(&now, Some(Kept::Done(result)) if result.verdict.kind != Kind::Disturbed);
            let is_worse = is_better(earlier, pace(self.store.record(cell, repeat)));
            if !is_fine && (is_worse || !matches!(now, Some(Kept::Done(_)))) {
                self.store.swap_aside(cell, repeat)?;
            }
            if !whole {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Runs one trial and tells of it; false if it was interrupted. `rest` are the trials to come, this one first.
    fn trial(&mut self, place: Place, rest: &[Slot], watch: &mut dyn Watch) -> Result<bool, Error> {
        let cell = place.cell;
        let target = self.request.plan.targets.iter().find(|target| target.name == cell.target);
        let target = target.expect("cells are made of the plan's own targets");
        let dir = self.store.trial(&cell.id, place.repeat);
        let overhead = self.overhead.checked_div(self.run as u32);
        let whole = self.schedule.time(rest, overhead);
        let since = Instant::now();
        watch.saw(Event::Begins(Place { left: whole, ..place }));
        let end = match self.unbuilt.get(&target.name) {
            Some(why) => {
                let failure = Failure { why: why.clone(), log: Vec::new() };
                Directory::create(&dir)?.write_json("failed.json", &failure)?;
                End::Failed(failure)
            }
            None => {
                let bench = Bench {
                    tester: &self.request.tester,
                    added: &self.request.plan.testers,
                    brunt: &self.request.brunt,
                    base: &self.request.base,
                    pace: self.request.pace,
                    ledger: &self.ledger,
                    stop: self.stop,
                };
                let job = Job {
                    cell,
                    target,
                    repeat: place.repeat,
                    number: place.number,
                    // The same for every target and cell of a repeat, so that all face the same load.
                    seed: self.request.plan.seed.wrapping_add(u64::from(place.repeat) - 1),
                    dir,
                };
                bench.run(&job, &mut self.ports, &mut |what| {
                    let left = whole.saturating_sub(since.elapsed());
                    watch.saw(Event::Runs { place: Place { left, ..place }, what });
                })?
            }
        };
        let took = since.elapsed();
        self.overhead += took.saturating_sub(cell.load_time());
        let left = self.schedule.time(&rest[1..], Some(self.overhead / (self.run as u32 + 1)));
        watch.saw(Event::Ends { place: Place { left, ..place }, end: &end, took });
        let interrupted = matches!(end, End::Interrupted);
        self.run += usize::from(!interrupted);
        self.live.saw_end(self.store);
        Ok(!interrupted)
    }
}
