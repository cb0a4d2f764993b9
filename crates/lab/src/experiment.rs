//! An experiment from its first trial to its last: what is done is kept, what is not is run, in the recorded order.

use crate::{
    Error,
    cells::Cells,
    ledger::Ledger,
    order::Slot,
    plan::{Plan, Target},
    port::Ports,
    prepare::{NotBuilt, build},
    schedule::Schedule,
    store::{Experiment, SCHEMA, Store},
    tester::Tester,
    trial::{Bench, End, Failure, Job},
    watch::{Event, Place, Watch},
};
use outcome::directory::Directory;
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
    };
    if runner.build(&todo, watch).is_err() {
        finish.interrupted = true;
        return Ok(finish);
    }
    let slots: Vec<Slot> = todo.iter().map(|(_, slot)| *slot).collect();
    for (done, (index, slot)) in todo.into_iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            finish.interrupted = true;
            break;
        }
        let place =
            Place { number: index + 1, total, cell: schedule.cell(slot), repeat: slot.repeat, left: Duration::ZERO };
        if runner.trial(place, &slots[done..], done, watch)? {
            finish.run += 1;
        } else {
            finish.interrupted = true;
            break;
        }
    }
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

    /// Runs one trial and tells of it; false if it was interrupted. `rest` are the trials to come, this one first, and
    /// `done` is how many this invocation has run.
    fn trial(&mut self, place: Place, rest: &[Slot], done: usize, watch: &mut dyn Watch) -> Result<bool, Error> {
        let cell = place.cell;
        let target = self.request.plan.targets.iter().find(|target| target.name == cell.target);
        let target = target.expect("cells are made of the plan's own targets");
        let dir = self.store.trial(&cell.id, place.repeat);
        let overhead = self.overhead.checked_div(done as u32);
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
                    brunt: &self.request.brunt,
                    base: &self.request.base,
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
        let left = self.schedule.time(&rest[1..], Some(self.overhead / (done as u32 + 1)));
        watch.saw(Event::Ends { place: Place { left, ..place }, end: &end, took });
        Ok(!matches!(end, End::Interrupted))
    }
}
