//! The jobs of a run: taken from a queue, started in their groups, repeated where the plan says so.

use crate::clock;
use crate::jobs::{Event, Launcher, Live, MemoryKills, Options, Output, Runner};
use crate::plan::Plan;
use crate::queue::{self, AttemptId, Outcome, Queue, Spec, State, Usage};
use brunt_results::colocation::Jobs;
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{fs, io};

const SIGKILL: i32 = 9;
const OWN_MEMORY: &str = ", by the kernel: its memory was used up (memory of the job)";
const MEMORY_OF_ALL: &str = ", by the kernel: the jobs' memory was used up ([limits] memory)";
/// Bytes of the output of a job that are kept, of each stream.
const OUTPUT: u64 = 1 << 20;
/// From SIGTERM to SIGKILL for a job that is preempted.
const GRACE: Duration = Duration::from_millis(500);
/// Time between looks whether every job has ended.
const LOOK: Duration = Duration::from_millis(500);

#[derive(Debug)]
pub(super) struct Work<L: Launcher> {
    launcher: L,
    runner: Runner<L>,
    /// The same file, for jobs that are added and for what has become of them.
    queue: Queue,
    slots: usize,
    repeated: HashMap<i64, Spec>,
    /// To be added again.
    again: Vec<Spec>,
    until_empty: bool,
    /// No job is started any more.
    is_draining: bool,
    next_look: Instant,
    is_over: bool,
    attempts: BTreeSet<AttemptId>,
    tally: Jobs,
    /// What they had done when counting began.
    before: Done,
    /// Processes killed because the memory of all was used up, as of the last look.
    memory_kills: Option<u64>,
    /// Of the queue's file, in the last tick.
    failure: Option<String>,
}

impl<L: Launcher + Clone> Work<L> {
    pub(super) fn open(launcher: L, plan: &Plan, out: &Path, slots: usize) -> io::Result<Self> {
        let path = match &plan.queue {
            Some(queue) => queue.file.clone().map_or_else(Queue::default_path, Ok)?,
            None => own_queue(out)?,
        };
        let mut queue = Queue::open_for_runner(&path)?;
        let (mut repeated, base) = (HashMap::new(), std::env::current_dir()?);
        for job in &plan.jobs {
            let spec = job.spec(&base).map_err(io::Error::other)?;
            let ids = queue.add(&spec, 1)?;
            if job.repeat {
                repeated.extend(ids.into_iter().map(|id| (id, spec.clone())));
            }
        }
        let options = Options { output: Output { dir: out.join("jobs"), bytes: OUTPUT }, grace: GRACE };
        let runner = Runner::new(Queue::open_for_runner(&path)?, launcher.clone(), options);
        Ok(Self {
            launcher,
            runner,
            queue,
            slots,
            repeated,
            again: Vec::new(),
            until_empty: plan.until_empty(),
            is_draining: false,
            next_look: clock::now() + LOOK,
            is_over: false,
            attempts: BTreeSet::new(),
            tally: Jobs::default(),
            before: Done::default(),
            memory_kills: None,
            failure: None,
        })
    }

    /// Starts and follows jobs. An error of the queue's file is a warning, once: the next tick tries again.
    pub(super) fn poll(&mut self, now: Instant, frozen: bool, warnings: &mut Vec<String>) {
        self.runner.set_frozen(frozen, now);
        let slots = if self.is_draining { 0 } else { self.slots };
        match self.runner.poll(now, slots) {
            Ok(events) => {
                self.failure = None;
                events.into_iter().for_each(|event| self.take(event, warnings));
            }
            Err(error) => {
                let failure = Some(error.to_string());
                if self.failure != failure {
                    warnings.extend(failure.clone());
                    self.failure = failure;
                }
            }
        }
        while let Some(spec) = self.again.pop() {
            let Ok(ids) = self.queue.add(&spec, 1) else {
                self.again.push(spec);
                break;
            };
            self.repeated.extend(ids.into_iter().map(|id| (id, spec.clone())));
        }
        if self.is_draining && self.runner.is_idle() {
            self.is_over = true;
        } else if self.until_empty && self.runner.is_idle() && now >= self.next_look {
            self.next_look = now + LOOK;
            let listed = self.queue.list();
            self.is_over = listed.is_ok_and(|listed| listed.iter().all(|listed| listed.job.state.is_final()));
        }
    }

    fn take(&mut self, event: Event, warnings: &mut Vec<String>) {
        match event {
            Event::Started { id, .. } => {
                self.attempts.insert(id);
                self.tally.attempts += 1;
            }
            Event::Ended { id, outcome, state } => {
                let why = self.memory_used_up(id.job, &outcome);
                // Another attempt may have begun already.
                if state.is_final() {
                    self.launcher.forget(id.job);
                }
                self.tally.preempted += u64::from(outcome == Outcome::Preempted);
                self.tally.done += u64::from(state == State::Done);
                self.tally.failed += u64::from(state == State::Failed);
                let repeated = self.repeated.remove(&id.job);
                match state {
                    State::Done => self.again.extend(repeated),
                    State::Failed => {
                        let (job, attempt) = (id.job, id.attempt);
                        warnings.push(format!("job {job} failed: {outcome}{why}; see jobs/{job}-{attempt}.err"));
                    }
                    _ => self.repeated.extend(repeated.map(|spec| (id.job, spec))),
                }
            }
            Event::Warning(warning) => warnings.push(warning),
        }
    }

    /// Whose memory was used up, where a process was killed by the kernel, which has killed one for its memory since the last time.
    fn memory_used_up(&mut self, job: i64, outcome: &Outcome) -> &'static str {
        let MemoryKills { own, by_own_limit, all } = self.launcher.memory_kills(job);
        let before = std::mem::replace(&mut self.memory_kills, all).or(Some(0));
        match outcome {
            Outcome::Signalled(SIGKILL) if own > Some(0) && by_own_limit => OWN_MEMORY,
            Outcome::Signalled(SIGKILL) if own > Some(0) || all > before => MEMORY_OF_ALL,
            _ => "",
        }
    }

    /// The file of the queue.
    pub(super) fn queue(&self) -> &Path {
        self.queue.path()
    }

    pub(super) fn live(&self) -> impl Iterator<Item = Live<'_>> {
        self.runner.live()
    }

    /// Longest time from SIGTERM to SIGKILL of those that run.
    pub(super) fn longest_grace(&self) -> Duration {
        let own = self.live().filter_map(|live| live.job.spec.options.term_grace);
        own.map(|grace| grace.0).max().unwrap_or(GRACE).max(GRACE)
    }

    /// Starts no job any more; the run is over with those that run.
    pub(super) fn drain(&mut self) {
        self.is_draining = true;
    }

    /// First processes of the jobs that run; `None` while one is being started.
    pub(super) fn first_processes(&self) -> Option<BTreeSet<u32>> {
        (!self.runner.is_starting()).then(|| self.live().map(|live| live.pid).collect())
    }

    /// Whether every job has ended, where that ends the run.
    pub(super) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Tells all jobs to end; those that have not ended go back to the queue.
    pub(super) fn preempt_all(&mut self, now: Instant) {
        self.runner.set_frozen(false, now);
        self.runner.preempt_all(now);
    }

    /// Kills all jobs, which go back to the queue.
    pub(super) fn kill_all(&mut self, now: Instant) {
        self.runner.kill_all(now);
    }

    /// Follows jobs that have been told to end. An error of the queue's file is a warning, too.
    pub(super) fn follow(&mut self, now: Instant, warnings: &mut Vec<String>) -> Result<(), queue::Error> {
        let events = self.runner.poll(now, 0).inspect_err(|error| warnings.push(error.to_string()))?;
        events.into_iter().for_each(|event| self.take(event, warnings));
        Ok(())
    }

    /// Whether no job runs, and every end is in the queue.
    pub(super) fn is_idle(&self) -> bool {
        self.runner.is_idle()
    }

    /// What was done so far does not count.
    pub(super) fn restart(&mut self, now: Instant) -> io::Result<()> {
        let live = self.runner.sample(now);
        self.before = self.done(|id| live.iter().find(|(own, _)| *own == id).map(|(_, usage)| *usage))?;
        Ok(())
    }

    /// What the attempts of this run have done.
    pub(super) fn jobs(&self) -> io::Result<Jobs> {
        let (done, before) = (self.done(|_| None)?, self.before);
        Ok(Jobs {
            progress: done
                .progress
                .zip(before.progress)
                .map(|(now, before)| now - before)
                .filter(|_| self.tally.attempts > 0),
            cpu_seconds: done.cpu_seconds - before.cpu_seconds,
            ..self.tally
        })
    }

    /// Sums of all attempts of this run; `newer` has the usage of those that run.
    fn done(&self, newer: impl Fn(AttemptId) -> Option<Usage>) -> io::Result<Done> {
        let mut done = Done::default();
        for listed in &self.queue.list()? {
            let id = |number| AttemptId { job: listed.job.id, attempt: number };
            for attempt in listed.attempts.iter().filter(|attempt| self.attempts.contains(&id(attempt.number))) {
                let usage = newer(id(attempt.number)).unwrap_or(attempt.usage);
                done.cpu_seconds += usage.cpu_seconds.unwrap_or(0.0);
                let printed = usage.progress.filter(|progress| progress.source == queue::Source::Output);
                // A job that has printed nothing yet has done nothing that it would have printed.
                let pattern = listed.job.spec.progress_pattern.as_ref();
                let figure = pattern.map(|_| printed.map_or(0.0, |progress| progress.value));
                done.progress = done.progress.zip(figure).map(|(sum, figure)| sum + figure);
            }
        }
        Ok(done)
    }
}

/// Work of jobs.
#[derive(Debug, Clone, Copy)]
struct Done {
    /// `None` if one reports none.
    progress: Option<f64>,
    cpu_seconds: f64,
}

impl Default for Done {
    fn default() -> Self {
        Self { progress: Some(0.0), cpu_seconds: 0.0 }
    }
}

/// A new queue in the directory of the run.
fn own_queue(out: &Path) -> io::Result<PathBuf> {
    let path = out.join("queue.sqlite");
    for suffix in ["", "-wal", "-shm"] {
        match fs::remove_file(out.join(format!("queue.sqlite{suffix}"))) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
