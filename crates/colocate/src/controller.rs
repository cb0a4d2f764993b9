//! The controller: at every tick it reads the signals, asks the policy, and puts the allotment of the jobs into effect.
//!
//! Invariants: before the first change of this machine there are a journal and a guardian; a controller that is dropped ends its
//! jobs and undoes its changes; a job runs in a control group of its own, below the one that is limited.

mod changes;
mod groups;
mod requests;
mod service;
mod status;
mod tally;
mod work;

pub use status::{Job as JobStatus, Status, all as statuses};

use crate::actuators::{Actuators, Applied, DiskLimit, NetworkLimit, Settings};
use crate::allotment::{Allotment, Bounds};
use crate::audit::{Header, Log, Record, VERSION};
use crate::plan::Plan;
use crate::policy::{Decision, Policy};
use crate::readings::Readings;
use crate::signals::{self, Machine, requests::Source};
use brunt_meter::cgroup::Linux;
use brunt_meter::{SamplingBudget, affinity};
use brunt_results::colocation::{self, Summary};
use changes::Changes;
use service::Service;
use std::fs::{self, File};
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tally::Tally;
use work::Work;

/// Least and most time between two decisions: there is one whenever counts of requests come.
const TICK: Duration = Duration::from_millis(20);
const LONGEST_TICK: Duration = Duration::from_millis(100);

/// Time between two heartbeats that the guardian expects.
const HEARTBEAT: Duration = Duration::from_millis(100);

/// After a tick that late, the guardian may have frozen the group.
const LATE: Duration = Duration::from_millis(200);
/// Time between two writings of what `brunt colocate status` prints.
const STATUS: Duration = Duration::from_secs(1);
/// Time between two checks that the limits are as they were set, and that no process is outside its group: this reads all
/// processes of the machine.
const CHECK: Duration = Duration::from_secs(3);

/// Files in the directory of a run.
pub const AUDIT: &str = "audit.jsonl";
pub const SUMMARY: &str = "summary.json";

#[derive(Debug)]
pub struct Controller {
    begin: Instant,
    policy: Box<dyn Policy>,
    source: Source,
    machine: Machine,
    work: Work,
    service: Service,
    actuators: Actuators,
    audit: Audit,
    tally: Tally,
    status: status::File,
    last: Option<(Instant, Decision, Readings)>,
    /// When the figures of the summary begin, until then.
    figures_begin: Option<Instant>,
    /// Then, and the CPU time of controller and guardian until then, in seconds.
    used: (Instant, f64),
    next_check: Instant,
    next_status: Instant,
    strays: SamplingBudget,
    /// Faults of the last application, and whether it is still under way.
    faults: Vec<String>,
    is_freezing: bool,
    changes: Changes,
}

/// What a tick has to tell.
#[derive(Debug, Default)]
pub struct Told {
    pub warnings: Vec<String>,
    /// Why the run is over.
    pub end: Option<End>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every job has ended.
    NoMoreJobs,
    /// The service, or the source of its latency, has ended.
    Lost(String),
}

impl Controller {
    /// Starts the guardian, makes the group, starts the service where that is asked for. `brunt` is this binary; `out` exists.
    pub fn open(brunt: &Path, plan: &Plan, out: &Path) -> io::Result<Self> {
        let settings = settings(plan)?;
        let slots = plan.at_once.map_or(settings.cores.len(), |count| usize::try_from(count.0).unwrap_or(usize::MAX));
        let ceiling = settings.cores.len() as f64;
        let bounds = Bounds { deadline: plan.source.stale.0, ..Bounds::new(plan.floor.min(ceiling), ceiling) };
        let objective = plan.service.slo;
        let policy = plan.policy.policy(objective, bounds);
        let header = Header { version: VERSION, policy: plan.policy.to_string(), objective, bounds };
        let audit = Audit::create(&out.join(AUDIT), plan.audit.0, &header)?;
        let mut service = Service::open(&plan.service, out)?;
        let peak = plan.service.peak.map(|rate| rate.0);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("[source] {error}"));
        let source = Source::start(&requests::from(&plan.source)?, objective, peak, brunt).map_err(named)?;
        let mut changes = Changes::begin(brunt, HEARTBEAT, plan.grace.0)?;
        let actuators = Actuators::open(Arc::new(Linux), &settings, changes.journal()?)?;
        let peak = plan.memory_peak.map(|bytes| bytes.0 as f64);
        let memory = signals::Memory { peak, bytes_per_miss: plan.memory_bytes_per_miss };
        let options = signals::Options { memory, ..signals::Options::default() };
        let machine = Machine::open(service.take()?, actuators.group(), options);
        let work = Work::open(brunt, plan, out, &actuators, slots)?;
        let now = Instant::now();
        let guardian = changes.guardian_pid();
        let status = status::File::new(changes.journal()?.path(), plan, out, guardian);
        Ok(Self {
            begin: now,
            policy,
            source,
            machine,
            work,
            service,
            actuators,
            audit,
            tally: Tally::new(plan, now),
            status,
            last: None,
            used: (now, 0.0),
            figures_begin: plan.warmup.map(|warmup| now + warmup.0),
            next_check: now,
            next_status: now,
            strays: SamplingBudget::default(),
            faults: Vec::new(),
            is_freezing: false,
            changes,
        })
    }

    /// One tick.
    pub fn tick(&mut self, now: Instant) -> io::Result<Told> {
        let mut told = Told::default();
        self.changes.beat(now, &mut told.warnings)?;
        let readings = Readings { requests: self.source.poll(now), ..self.machine.read(now) };
        told.warnings.extend(self.source.warning());
        let since = now.duration_since(self.begin);
        let decision = self.policy.decide(since, &readings);
        self.apply(decision.allotment, now, &mut told);
        self.work.poll(now, decision.allotment.is_frozen(), &mut told.warnings);
        self.audit.add(&Record { now: since.as_secs_f64(), readings, decision }, &mut told.warnings);
        self.tally.add(now, &readings, decision);
        self.begin_figures(now);
        self.last = Some((now, decision, readings));
        if now >= self.next_status {
            self.next_status = now + STATUS;
            self.status.write(since, &readings, decision, self.work.live(), &self.tally);
        }
        if now >= self.next_check {
            self.next_check = now + CHECK;
            let group = self.actuators.group();
            self.strays.take(|| group.recapture());
        }
        told.end = self.end();
        Ok(told)
    }

    /// Until the next tick is due, after that at `last`.
    pub fn wait(&self, last: Instant) {
        thread::sleep((last + TICK).saturating_duration_since(Instant::now()));
        if !self.is_freezing {
            self.source.wait((last + LONGEST_TICK).saturating_duration_since(Instant::now()));
        }
    }

    /// After the warm-up.
    fn begin_figures(&mut self, now: Instant) {
        // Without the queue's file, as while another process writes to it, the next tick tries again.
        if self.figures_begin.is_some_and(|begin| now >= begin) && self.work.restart(now).is_ok() {
            self.figures_begin = None;
            self.tally.restart(now);
            self.used = (now, self.changes.cpu_seconds());
            self.machine.begin_means();
        }
    }

    fn end(&mut self) -> Option<End> {
        let lost = self.service.ended().or_else(|| self.source.ended());
        lost.map(End::Lost).or_else(|| self.work.is_over().then_some(End::NoMoreJobs))
    }

    /// Applies the allotment where it has changed, or where the guardian or another program may have changed the limits.
    fn apply(&mut self, allotment: Allotment, now: Instant, told: &mut Told) {
        let is_same = self.last.is_some_and(|(before, decision, _)| {
            decision.allotment == allotment && now.duration_since(before) < LATE && now < self.next_check
        });
        if is_same && !self.is_freezing {
            return;
        }
        let Applied { faults, is_freezing, .. } = self.actuators.apply(allotment);
        self.is_freezing = is_freezing;
        let faults: Vec<String> = faults.iter().map(|fault| format!("{}: {}", fault.resource, fault.error)).collect();
        told.warnings.extend(faults.iter().filter(|fault| !self.faults.contains(fault)).cloned());
        self.faults = faults;
    }

    /// Decision and readings of the last tick.
    pub fn last(&self) -> Option<(Decision, Readings)> {
        self.last.map(|(_, decision, readings)| (decision, readings))
    }

    /// Jobs that run.
    pub fn running(&self) -> usize {
        self.work.live().count()
    }

    /// Ends the jobs, undoes every change of this machine, and writes the summary. Returns it with what could not be done.
    pub fn close(mut self, out: &Path) -> io::Result<(Summary, Vec<String>)> {
        let mut problems = Vec::new();
        let (begin, before) = self.used;
        let cpu = (self.changes.cpu_seconds() - before) / begin.elapsed().max(TICK).as_secs_f64();
        let controller = colocation::Controller { cpu, memory_bytes: self.changes.memory() };
        let machine = self.machine.totals();
        let changes = &mut self.changes;
        problems.extend(self.work.end(|| changes.beat(Instant::now(), &mut Vec::new())));
        problems.extend(self.audit.finish());
        problems.extend(self.changes.undo());
        let summary = self.tally.summary(self.work.jobs()?, machine, controller);
        let path = out.join(SUMMARY);
        let text = serde_json::to_string_pretty(&summary)?;
        fs::write(&path, text + "\n")
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
        Ok((summary, problems))
    }
}

/// What the group gets when it is made.
fn settings(plan: &Plan) -> io::Result<Settings> {
    let allowed = affinity::allowed()?;
    let mut cores = match &plan.cores {
        Some(cores) => cores.0.clone(),
        None => allowed.clone(),
    };
    if let Some(core) = cores.iter().find(|core| !allowed.contains(core)) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            format!("cores: there is no core {core} for this process; see brunt doctor"),
        ));
    }
    // Services are usually on the first cores.
    cores.reverse();
    let mut settings = Settings::new(cores, plan.floor);
    settings.idle = plan.policy.idle_class();
    let limits = &plan.limits;
    settings.memory = limits.memory.map(|size| size.0);
    settings.processes = limits.processes.map(|count| count.0).or(settings.processes);
    settings.disk = limits.disk.as_ref().map(|disk| DiskLimit { place: disk.place.clone(), rate: disk.rate.0 });
    settings.network = limits
        .network
        .as_ref()
        .map(|network| NetworkLimit { interfaces: network.interfaces.clone(), floor: network.floor.0 });
    Ok(settings)
}

/// The audit log of bounded length. A disk that is full ends the log, not the run.
#[derive(Debug)]
struct Audit {
    path: PathBuf,
    log: Option<Log<BufWriter<File>>>,
    records: u64,
    most: u64,
}

impl Audit {
    fn create(path: &Path, most: u64, header: &Header) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        let file = BufWriter::new(File::create(path).map_err(named)?);
        let log = Log::begin(file, header).map_err(named)?;
        Ok(Self { path: path.to_owned(), log: Some(log), records: 0, most })
    }

    fn add(&mut self, record: &Record, warnings: &mut Vec<String>) {
        let Some(log) = &mut self.log else { return };
        self.records += 1;
        let is_second = self.records.is_multiple_of(50);
        let written = log.add(record).and_then(|()| if is_second { log.flush() } else { Ok(()) });
        let path = self.path.display();
        let length = || self.path.metadata().map_or(0, |file| file.len());
        match written {
            Err(error) => warnings.push(format!("{path}: {error}; the audit log ends here")),
            Ok(()) if is_second && length() >= self.most => {
                warnings.push(format!("{path} is as long as it may be (audit): it ends here"));
            }
            Ok(()) => return,
        }
        self.log = None;
    }

    fn finish(&mut self) -> Option<String> {
        let flushed = self.log.as_mut().map_or(Ok(()), Log::flush);
        flushed.err().map(|error| format!("{}: {error}", self.path.display()))
    }
}
