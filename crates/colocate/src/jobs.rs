//! Runs the jobs of a queue: starts them, follows their output and their end, preempts and records them.
//!
//! A controller calls [`Runner::poll`] at every tick. No call waits for a job, for the disk, or for long for another process that
//! writes to the queue: what could not be written is written at a later tick.
//!
//! Invariants: an attempt is recorded before its program starts, and its end after its last process has gone; with the runner
//! dropped, none of its processes runs. Those of a runner that was killed are killed by the next one, before their jobs run
//! again: they are found by a variable in their environment, `BRUNT_JOB`.

mod launch;
mod orphans;
mod output;
mod process;
mod progress;
mod running;
mod starter;

pub use launch::{Launcher, MemoryKills, plain};
pub use output::Output;

use crate::clock;
use crate::queue::{AttemptId, Error, Job, LONG_LOG, Outcome, Owner, Queue, State, Usage, checkpoint};
use orphans::Orphans;
use running::Running;
use starter::Starter;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// Time between looks for cancelled jobs, for runners that have gone and, in an empty queue, for new jobs.
const LOOK: Duration = Duration::from_millis(200);
/// Time between records of what jobs use.
const RECORD: Duration = Duration::from_secs(1);
/// Time between looks at the length of the queue's log.
const CHECKPOINT: Duration = Duration::from_secs(10);
/// How long a dropped runner waits for its processes to go.
const DROP_WAIT: Duration = Duration::from_secs(5);

#[derive(Debug, Clone)]
pub struct Options {
    pub output: Output,
    /// Time from SIGTERM to SIGKILL for a job that is preempted or cancelled; SIGKILL at once if zero.
    pub grace: Duration,
}

/// What happened since the last poll.
#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    Started {
        id: AttemptId,
        pid: u32,
    },
    /// `state` is that of the job now.
    Ended {
        id: AttemptId,
        outcome: Outcome,
        state: State,
    },
    /// Something that does not affect the outcome of a job.
    Warning(String),
}

/// A job that runs.
#[derive(Debug)]
pub struct Live<'a> {
    pub job: &'a Job,
    pub id: AttemptId,
    pub pid: u32,
    pub since: Instant,
    /// As of the last sample, up to a second ago.
    pub usage: Usage,
    /// Whether it has been told to end.
    pub is_ending: bool,
}

#[derive(Debug)]
pub struct Runner<L: Launcher> {
    queue: Queue,
    owner: Owner,
    launcher: L,
    options: Options,
    starter: Starter,
    starting: Option<Starting>,
    running: Vec<Running>,
    /// Attempts whose first process is not yet recorded.
    started: Vec<(AttemptId, (u32, u64), Option<PathBuf>)>,
    /// Attempts that have ended and whose end is not yet recorded.
    ended: Vec<(AttemptId, Outcome, Option<Usage>)>,
    orphans: Orphans,
    frozen: bool,
    events: Vec<Event>,
    next_take: Option<Instant>,
    next_look: Option<Instant>,
    next_record: Option<Instant>,
    next_checkpoint: Option<Instant>,
    checkpoint: Option<JoinHandle<()>>,
}

/// An attempt whose program is being started.
#[derive(Debug)]
struct Starting {
    job: Job,
    id: AttemptId,
    mark: OsString,
    program: String,
    /// It is to end as soon as it has started.
    ending: Option<Outcome>,
}

impl<L: Launcher> Runner<L> {
    /// `queue` is one of [`Queue::open_for_runner`].
    pub fn new(queue: Queue, launcher: L, options: Options) -> Self {
        Self {
            owner: Owner::new(),
            launcher,
            options,
            starter: Starter::default(),
            starting: None,
            running: Vec::new(),
            started: Vec::new(),
            ended: Vec::new(),
            orphans: Orphans::new(queue.path()),
            frozen: false,
            events: Vec::new(),
            next_take: None,
            next_look: None,
            next_record: None,
            next_checkpoint: None,
            checkpoint: None,
            queue,
        }
    }

    /// Reads output, notices ends, and starts at most one job, while fewer than `slots` run and they are not frozen.
    ///
    /// An error is one of the queue's file. The next call tries again, and jobs that run go on.
    pub fn poll(&mut self, now: Instant, slots: usize) -> Result<Vec<Event>, Error> {
        self.receive(now);
        self.watch(now);
        match self.write(now, slots) {
            Ok(()) | Err(Error::Busy(_)) => Ok(std::mem::take(&mut self.events)),
            Err(error) => Err(error),
        }
    }

    /// Jobs that run, oldest attempt first.
    pub fn live(&self) -> impl Iterator<Item = Live<'_>> {
        self.running.iter().map(Running::live)
    }

    /// Measures now what each job that runs has used so far.
    pub fn sample(&mut self, now: Instant) -> Vec<(AttemptId, Usage)> {
        self.running.iter_mut().map(|one| (one.id(), one.sample(now, &self.launcher))).collect()
    }

    /// Whether a program is being started, whose process is not yet known.
    pub fn is_starting(&self) -> bool {
        self.starting.is_some()
    }

    /// Whether nothing runs and every end is recorded.
    pub fn is_idle(&self) -> bool {
        self.has_no_process() && self.ended.is_empty()
    }

    /// Notes that the jobs' processes are stopped, or run again: the time counts as frozen, and no job is started meanwhile.
    pub fn set_frozen(&mut self, frozen: bool, now: Instant) {
        self.frozen = frozen;
        self.running.iter_mut().for_each(|running| running.set_frozen(frozen, now));
    }

    /// Ends a job that runs; it goes back to the queue. False if it does not run.
    pub fn preempt(&mut self, job: i64, now: Instant) -> bool {
        if let Some(starting) = self.starting.as_mut().filter(|starting| starting.id.job == job) {
            return starting.ending.replace(Outcome::Preempted).is_none();
        }
        let found = self.running.iter_mut().find(|running| running.id().job == job);
        found.is_some_and(|running| running.end(Outcome::Preempted, self.options.grace, now))
    }

    /// Ends all jobs; they go back to the queue. They are gone once [`Self::is_idle`] is true.
    pub fn preempt_all(&mut self, now: Instant) {
        if let Some(starting) = &mut self.starting {
            starting.ending = Some(Outcome::Preempted);
        }
        for running in &mut self.running {
            running.end(Outcome::Preempted, self.options.grace, now);
        }
    }

    /// Kills all jobs, also those that have been told to end.
    pub fn kill_all(&mut self, now: Instant) {
        for running in &mut self.running {
            running.end(Outcome::Preempted, Duration::ZERO, now);
        }
    }

    fn has_no_process(&self) -> bool {
        self.running.is_empty() && self.starting.is_none()
    }

    /// Takes over a process that has been started.
    fn receive(&mut self, now: Instant) {
        let Some(child) = self.starting.is_some().then(|| self.starter.started()).flatten() else { return };
        let Some(Starting { job, id, mark, program, ending }) = self.starting.take() else { return };
        let cgroup = self.launcher.cgroup(&job);
        let running = child
            .map_err(|error| format!("cannot start {program}: {error}"))
            .and_then(|child| Running::new(job, id, mark, cgroup.is_some(), child, &self.options.output, now));
        match running {
            Err(why) => self.ended.push((id, Outcome::Error(why), None)),
            Ok(mut running) => {
                running.set_frozen(self.frozen, now);
                if let Some(outcome) = ending {
                    running.end(outcome, self.options.grace, now);
                }
                self.started.push((id, (running.pid(), running.started_ticks()), cgroup));
                self.events.push(Event::Started { id, pid: running.pid() });
                self.running.push(running);
            }
        }
    }

    /// Follows the processes.
    fn watch(&mut self, now: Instant) {
        let Self { running, launcher, events, ended, .. } = self;
        running.retain_mut(|one| {
            let outcome = one.poll(now, launcher);
            events.extend(one.warning().map(Event::Warning));
            let Some(outcome) = outcome else { return true };
            ended.push((one.id(), outcome, Some(one.usage())));
            false
        });
    }

    /// Everything that needs the queue; stops at the first error.
    fn write(&mut self, now: Instant, slots: usize) -> Result<(), Error> {
        self.record(now)?;
        if is_due(&mut self.next_record, now, RECORD) && !self.running.is_empty() {
            let all = self.sample(now);
            self.queue.used(&all, self.frozen)?;
        }
        if is_due(&mut self.next_look, now, LOOK) {
            self.look(now)?;
        }
        if is_due(&mut self.next_checkpoint, now, CHECKPOINT) {
            self.shorten_log();
        }
        let has_slot = self.running.len() < slots && self.starting.is_none() && !self.frozen;
        if has_slot && self.next_take.is_none_or(|next| next <= now) {
            self.start(now)?;
        }
        Ok(())
    }

    /// Records starts and ends.
    fn record(&mut self, now: Instant) -> Result<(), Error> {
        while let Some((id, process, cgroup)) = self.started.first() {
            self.queue.started(*id, *process, cgroup.as_deref())?;
            self.started.remove(0);
        }
        while let Some((id, outcome, usage)) = self.ended.first() {
            // Another runner that took this one for gone may have recorded an end.
            if let Some(state) = self.queue.end(*id, outcome, usage.as_ref())? {
                self.events.push(Event::Ended { id: *id, outcome: outcome.clone(), state });
            }
            self.ended.remove(0);
            self.next_take = Some(now);
        }
        Ok(())
    }

    /// Looks for cancelled jobs and for attempts of runners that have gone.
    fn look(&mut self, now: Instant) -> Result<(), Error> {
        let mut orphans = Vec::new();
        for active in self.queue.active()? {
            if let Some(starting) = self.starting.as_mut().filter(|starting| starting.id == active.id) {
                if active.cancel_asked {
                    starting.ending = Some(Outcome::Cancelled);
                }
                continue;
            }
            let own = self.running.iter_mut().find(|running| running.id() == active.id);
            match own {
                Some(running) if active.cancel_asked => _ = running.end(Outcome::Cancelled, self.options.grace, now),
                Some(_) => {}
                // One of ours that does not run: its start was recorded, but writing it was reported as failed.
                None if active.owner == self.owner || active.owner.is_gone() => orphans.push(active),
                None => {}
            }
        }
        for id in self.orphans.without_processes(&orphans, &self.owner, now) {
            if let Some(state) = self.queue.end(id, &Outcome::Lost, None)? {
                self.events.push(Event::Ended { id, outcome: Outcome::Lost, state });
                self.next_take = Some(now);
            }
        }
        Ok(())
    }

    /// Starts the next job.
    fn start(&mut self, now: Instant) -> Result<(), Error> {
        let Some((job, id)) = self.queue.take(&self.owner)? else {
            self.next_take = Some(now + LOOK);
            return Ok(());
        };
        let mark = process::mark(self.queue.path(), id);
        let started = Running::command(&job, &mark, &self.launcher).and_then(|command| {
            let program = command.get_program().to_string_lossy().into_owned();
            let handed_over = self.starter.start(command);
            handed_over.map_err(|error| format!("cannot start {program}: {error}")).map(|()| program)
        });
        match started {
            Err(why) => self.ended.push((id, Outcome::Error(why), None)),
            Ok(program) => self.starting = Some(Starting { job, id, mark, program, ending: None }),
        }
        self.record(now)
    }

    /// Moves a long log of the queue into its file, in a thread: this waits for the disk.
    fn shorten_log(&mut self) {
        let path = self.queue.path();
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let is_long = Path::new(&log).metadata().is_ok_and(|log| log.len() > u64::from(LONG_LOG));
        if is_long && self.checkpoint.as_ref().is_none_or(JoinHandle::is_finished) {
            let path = path.to_owned();
            self.checkpoint =
                thread::Builder::new().name("checkpoint".to_owned()).spawn(move || checkpoint(&path)).ok();
        }
    }
}

impl<L: Launcher> Drop for Runner<L> {
    fn drop(&mut self) {
        let since = clock::now();
        self.options.grace = Duration::ZERO;
        self.preempt_all(since);
        while !self.is_idle() && clock::since(since) < DROP_WAIT {
            // An end that cannot be recorded is taken for lost by the next runner.
            if self.poll(clock::now(), 0).is_err() && self.has_no_process() {
                break;
            }
            clock::sleep(Duration::from_millis(2));
        }
    }
}

/// Whether it is time, and if so, when it is next.
fn is_due(next: &mut Option<Instant>, now: Instant, every: Duration) -> bool {
    let is_due = next.is_none_or(|next| next <= now);
    if is_due {
        *next = Some(now + every);
    }
    is_due
}
