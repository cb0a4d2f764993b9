//! The controller: at every tick it reads the signals, and does what the coordinator says. What is done and when is decided there;
//! here it is carried out.
//!
//! Invariants: before the first change of this machine there are a journal and a guardian; a controller that is dropped ends its
//! jobs and undoes its changes; a job runs in a control group of its own, below the one that is limited.

mod audit_file;
mod changes;
mod claims;
mod coordinator;
mod dry_run;
mod groups;
mod health;
mod held;
mod here;
mod kinds;
mod orders;
mod requests;
mod service;
mod status;
mod strays;
mod tally;
mod work;

pub use dry_run::{DryRun, Found};
pub use health::{FrozenBy, Health, State, left_behind};
pub use here::check as check_here;
pub use orders::{Order, give};
pub use status::{Job as JobStatus, LearnedLimit, Status, all as statuses};

use crate::actuators::{Actuators, Applied, Settings};
use crate::allotment::{Allotment, Bounds};
use crate::audit::{Header, VERSION};
use crate::claim::Claim;
use crate::clock;
use crate::plan::Plan;
use crate::policy::{Decision, Reason};
use crate::readings::Readings;
use crate::signals::{self, Machine, requests::Source};
use audit_file::Audit;
use brunt_meter::cgroup::Linux;
use brunt_results::colocation::{self, Summary};
use changes::Changes;
use coordinator::{Action, Coordinator, HEARTBEAT, TICK};
use groups::Groups;
use held::Held;
use kinds::Names;
use service::Service;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use strays::Strays;
use work::Work;

/// Cores that jobs have at least while they end.
const ENDING: f64 = 0.5;

/// Files in the directory of a run.
pub const AUDIT: &str = "audit.jsonl";
pub const SUMMARY: &str = "summary.json";

#[derive(Debug)]
pub struct Controller {
    coordinator: Coordinator,
    source: Source,
    machine: Machine,
    work: Work<Rc<Groups>>,
    kinds: Names,
    service: Service,
    actuators: Actuators,
    /// Most cores of the jobs.
    ceiling: f64,
    audit: Audit,
    status: status::File,
    /// When the figures of the summary began, and the CPU time of controller and guardian until then, in seconds.
    used: (Instant, f64),
    strays: Strays,
    /// Faults of the last application.
    faults: Vec<String>,
    /// That the service has no process, and whether none can follow.
    absent: Option<(String, bool)>,
    /// Where counts of the service's requests come from, and whether they do not.
    counts: String,
    is_silent: bool,
    held: Vec<Held>,
    /// Of those, what is wrong, as of the last look.
    gone: Vec<String>,
    changes: Changes,
    /// To the service and to the directory; given up after everything is undone.
    _claims: Vec<Claim>,
}

/// What a tick has to tell.
#[derive(Debug, Default)]
pub struct Told {
    pub warnings: Vec<String>,
    /// Why the run is over.
    pub end: Option<End>,
}

/// The end of a run whose jobs have time to end by themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// Jobs that have not ended.
    pub jobs: usize,
    /// Until those are killed.
    pub left: Duration,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (jobs, s) = (self.jobs, if self.jobs == 1 { "" } else { "s" });
        write!(f, "the run is ending: {jobs} job{s} may take {:.0} s more", self.left.as_secs_f64().ceil())
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum End {
    /// Every job has ended.
    NoMoreJobs,
    /// The service, or the source of its latency, has ended.
    Lost(String),
}

impl Controller {
    /// Starts the guardian, makes the group, starts the service where that is asked for. [`check_here`] has passed; `brunt` is this
    /// binary; `out` exists.
    pub fn open(brunt: &Path, plan: &Plan, out: &Path) -> io::Result<Self> {
        let settings = settings(plan)?;
        let slots = plan.at_once.map_or(settings.cores.len(), |count| usize::try_from(count.0).unwrap_or(usize::MAX));
        let ceiling = settings.cores.len() as f64;
        let bounds = bounds(plan, settings.cores.len());
        let objective = plan.service.slo;
        let header = Header { version: VERSION, policy: plan.policy.to_string(), objective, bounds };
        let of_results = claims::to_results(out)?;
        let audit = Audit::create(&out.join(AUDIT), plan.audit.0, &header)?;
        let mut service = Service::open(&plan.service, out)?;
        let processes = service.take()?;
        let of_service = claims::to_service(&processes, out)?;
        let peak = plan.service.peak.map(|rate| rate.0);
        let named = |error: io::Error| io::Error::new(error.kind(), format!("[source] {error}"));
        let from = requests::from(&plan.source)?;
        let source = Source::start(&from, objective, peak, brunt).map_err(named)?;
        let has_others = plan.service.command.is_some() || plan.source.command.is_some() || plan.source.load.is_some();
        let mut changes = Changes::begin(brunt, HEARTBEAT, plan.grace.0)?;
        let actuators = Actuators::open(Arc::new(Linux), &settings, changes.journal()?)?;
        let peak = plan.memory_peak.map(|bytes| bytes.0 as f64);
        let memory = signals::Memory { peak, bytes_per_miss: plan.memory_bytes_per_miss };
        let options = signals::Options { memory, ..signals::Options::default() };
        let machine = Machine::open(processes, actuators.group(), options);
        let work = Work::open(Groups::new(brunt, &actuators), plan, out, slots)?;
        let held = vec![
            Held::new(&out.join(AUDIT), "no decision is on record any more"),
            Held::new(work.queue(), "jobs that are added now are not seen, and what becomes of others is lost"),
        ];
        let now = clock::now();
        let mut status = status::File::new(changes.journal()?.path(), plan, out);
        status.guardians(&changes.guardian_pids());
        Ok(Self {
            coordinator: Coordinator::new(plan, bounds, now),
            source,
            machine,
            work,
            kinds: Names::default(),
            service,
            actuators,
            ceiling,
            audit,
            status,
            used: (now, 0.0),
            strays: Strays::new(has_others),
            faults: Vec::new(),
            absent: None,
            counts: from.to_string(),
            is_silent: false,
            held,
            gone: Vec::new(),
            changes,
            _claims: std::iter::once(of_results).chain(of_service).collect(),
        })
    }

    /// One tick.
    pub fn tick(&mut self, now: Instant) -> io::Result<Told> {
        let mut told = Told::default();
        let kinds = self.kinds.kinds(self.work.live().map(|live| live.job.spec.kind()));
        let readings = Readings { requests: self.source.poll(now), kinds, ..self.machine.read(now) };
        told.warnings.extend(self.source.warning());
        for action in self.coordinator.step(now, readings) {
            self.act(action, now, &mut told.warnings)?;
        }
        if let Some((decision, _)) = self.coordinator.last() {
            self.source.want_more(decision.wants_evidence());
        }
        let silence = self.silence();
        let was_silent = std::mem::replace(&mut self.is_silent, silence.is_some());
        told.warnings.extend(silence.filter(|_| !was_silent));
        told.end = self.end(now);
        Ok(told)
    }

    fn act(&mut self, action: Action, now: Instant, warnings: &mut Vec<String>) -> io::Result<()> {
        match action {
            Action::Beat => {
                if self.changes.beat(warnings)? {
                    self.status.guardians(&self.changes.guardian_pids());
                }
            }
            Action::Apply(allotment) => self.apply(allotment, warnings),
            Action::Jobs { frozen } => self.work.poll(now, frozen, warnings),
            Action::Log(record) => self.audit.add(&record, warnings),
            Action::BeginFigures => self.begin_figures(now),
            Action::WriteStatus => {
                let orders = self.changes.journal().map(|journal| orders::take(journal.path())).unwrap_or_default();
                orders.into_iter().for_each(|order| self.obey(order));
                warnings.extend(self.look_for_service());
                let gone = self.held.iter().filter_map(Held::fault).collect();
                warnings.extend(replaced(&mut self.gone, gone));
                let status = self.status(now);
                warnings.extend(status.and_then(|status| self.status.write(&status)));
            }
            Action::Recapture => {
                let (guardians, jobs) = (self.changes.guardian_pids(), self.work.first_processes());
                warnings.extend(self.strays.recapture(self.actuators.group(), &guardians, jobs));
            }
        }
        Ok(())
    }

    /// What it does at the moment; `None` before the first decision.
    pub fn status(&self, now: Instant) -> Option<Status> {
        let absent = self.absent.as_ref().map(|(why, _)| why.clone());
        let faults = self.faults.iter().chain(&self.gone).cloned();
        let faults = faults.chain(self.audit.fault()).chain(absent).chain(self.silence()).collect();
        self.status.made(&self.coordinator, &self.kinds, self.work.live(), faults, now)
    }

    /// That counts of the service have not come for so long that the jobs are frozen.
    fn silence(&self) -> Option<String> {
        let (decision, readings) = self.coordinator.last()?;
        let age = readings.requests.map_or(self.coordinator.time().as_secs_f64(), |reading| reading.age);
        let words =
            || format!("no counts of the service's requests for {age:.0} s ({}): the jobs are frozen", self.counts);
        (decision.reason == Reason::Lost).then(words)
    }

    fn obey(&mut self, order: Order) {
        match order {
            Order::ForgetLimits => self.coordinator.forget_limits(),
            Order::Pause => self.coordinator.pause(true),
            Order::Resume => self.coordinator.pause(false),
            Order::Drain => self.work.drain(),
        }
    }

    /// Looks whether the service has processes; the warning if it has had none since the last look.
    fn look_for_service(&mut self) -> Option<String> {
        let before = self.absent.take();
        self.absent = self.machine.service().absence();
        let (why, _) = self.absent.as_ref().filter(|_| before.is_none())?;
        Some(format!("the service has ended: {why}"))
    }

    /// Until the next tick is due.
    pub fn wait(&self) {
        let wake = self.coordinator.wake();
        clock::sleep_until(wake.earliest);
        self.source.wait(wake.latest.saturating_duration_since(clock::now()));
    }

    /// After the warm-up.
    fn begin_figures(&mut self, now: Instant) {
        // Without the queue's file, as while another process writes to it, the next tick tries again.
        if self.work.restart(now).is_ok() {
            self.coordinator.figures_begun(now);
            self.used = (now, self.changes.cpu_seconds());
            self.machine.begin_means();
        }
    }

    fn end(&mut self, now: Instant) -> Option<End> {
        let for_good = self.absent.as_ref().filter(|(_, for_good)| *for_good);
        let of_process = || for_good.map(|(why, _)| format!("the service has ended: {why}"));
        let lost = self.service.ended().or_else(of_process).or_else(|| self.source.ended(now));
        lost.map(End::Lost).or_else(|| self.work.is_over().then_some(End::NoMoreJobs))
    }

    fn apply(&mut self, allotment: Allotment, warnings: &mut Vec<String>) {
        let Applied { faults, is_freezing, .. } = self.actuators.apply(allotment);
        self.coordinator.applied(is_freezing);
        let faults = faults.iter().map(|fault| format!("{}: {}", fault.resource, fault.error)).collect();
        warnings.extend(replaced(&mut self.faults, faults));
    }

    /// Decision and readings of the last tick.
    pub fn last(&self) -> Option<(Decision, Readings)> {
        self.coordinator.last()
    }

    /// Jobs that run.
    pub fn running(&self) -> usize {
        self.work.live().count()
    }

    /// Ends the jobs, undoes every change of this machine, and writes the summary. Returns it with what could not be done. While jobs have
    /// time to end by themselves, `is_enough` is told how long that may take, and answers whether they are to be killed now.
    pub fn close(
        mut self,
        out: &Path,
        is_enough: &mut dyn FnMut(&Ending) -> bool,
    ) -> io::Result<(Summary, Vec<String>)> {
        let mut problems = Vec::new();
        let (begin, before) = self.used;
        let cpu = (self.changes.cpu_seconds() - before) / clock::since(begin).max(TICK).as_secs_f64();
        let controller = colocation::Controller { cpu, memory_bytes: self.changes.memory() };
        let machine = self.machine.totals();
        problems.extend(self.end_jobs(is_enough));
        self.strays.kill(self.actuators.group(), &self.changes.guardian_pids());
        problems.extend(self.audit.finish());
        problems.extend(self.changes.undo());
        let summary = self.coordinator.into_tally().summary(self.work.jobs()?, machine, controller);
        let path = out.join(SUMMARY);
        let text = serde_json::to_string_pretty(&summary)?;
        let written = fs::write(&path, text + "\n");
        problems.extend(written.err().map(|error| format!("{}: {error}: these figures are not kept", path.display())));
        Ok((summary, problems))
    }

    /// Ends all jobs; those that have not ended go back to the queue. Returns what went wrong.
    fn end_jobs(&mut self, is_enough: &mut dyn FnMut(&Ending) -> bool) -> Vec<String> {
        let now = clock::now();
        let mut closing = self.coordinator.closing(now, self.work.longest_grace());
        let mut warnings = Vec::new();
        // Ending takes CPU time, which processes of the idle class take from no other one.
        let last = self.coordinator.last().map_or(0.0, |(decision, _)| decision.allotment.cores);
        self.apply(Allotment::cores(last.max(ENDING.min(self.ceiling))), &mut warnings);
        self.work.preempt_all(now);
        while let Some((actions, again)) = closing.step(clock::now(), self.work.is_idle()) {
            let ending = Ending { jobs: self.running(), left: closing.left(clock::now()) };
            if is_enough(&ending) {
                self.work.kill_all(clock::now());
                closing.hurry(clock::now());
            }
            for action in actions {
                match action {
                    // Without a guardian the jobs end all the same.
                    Action::Beat => _ = self.changes.beat(&mut Vec::new()),
                    Action::WriteStatus => {
                        let status = self.status(clock::now());
                        let status = status.map(|status| Status { faults: vec![ending.to_string()], ..status });
                        warnings.extend(status.and_then(|status| self.status.write(&status)));
                    }
                    _ if self.work.follow(clock::now(), &mut warnings).is_err() => return warnings,
                    _ => {}
                }
            }
            clock::sleep_until(again);
        }
        warnings
    }
}

/// Replaces what was wrong by what is; returns what is new.
fn replaced(known: &mut Vec<String>, found: Vec<String>) -> Vec<String> {
    let before = std::mem::replace(known, found);
    known.iter().filter(|fault| !before.contains(fault)).cloned().collect()
}

/// What a policy may give of so many cores, and when counts are too old for it.
fn bounds(plan: &Plan, cores: usize) -> Bounds {
    Bounds { deadline: plan.source.stale.0, ..Bounds::new(plan.floor, cores as f64) }
}

/// What the group gets when it is made.
fn settings(plan: &Plan) -> io::Result<Settings> {
    let mut cores = here::cores(plan).map_err(io::Error::other)?;
    // Services are usually on the first cores.
    cores.reverse();
    let mut settings = Settings::new(cores, plan.floor);
    settings.idle = plan.policy.idle_class();
    let limits = &plan.limits;
    settings.memory = limits.memory.map(|size| size.0);
    settings.processes = limits.processes.map(|count| count.0).or(settings.processes);
    settings.disk = limits.disk();
    settings.network = limits.network();
    Ok(settings)
}

#[cfg(test)]
mod tests;
