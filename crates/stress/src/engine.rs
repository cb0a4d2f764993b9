//! Runs a co-runner: threads that become ready, work together until the end, and are summed up every second.

use crate::affinity;
use crate::cpu_time;
use crate::dose::{Dose, Pacer};
use crate::error::{StressError, failed, usage};
use crate::resource::{Counts, Other, Progress, Resource, Total, Worker};
use crate::stop::Stop;
use crate::{cache, cpu, disk, fork, memory, network};
use brunt_results::Cores;
use std::convert::Infallible;
use std::sync::OnceLock;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

/// Bounds the memory that a typing error can take.
const MOST_THREADS: usize = 1024;

/// Time between two reports of progress.
const PERIOD: Duration = Duration::from_millis(100);

#[derive(Debug)]
pub struct Options {
    pub work: Work,
    /// Default: one for each core, or one.
    pub threads: Option<u64>,
    /// Cores to which the threads are pinned in turn.
    pub cores: Option<Cores>,
    /// Default: until the stop.
    pub duration: Option<Duration>,
    pub dose: Dose,
}

#[derive(Debug)]
pub enum Work {
    Cpu,
    Cache(cache::Options),
    Memory(memory::Options),
    Network(network::Options),
    Disk(disk::Options),
    Fork(fork::Options),
}

/// What a run reports before its end.
#[derive(Debug)]
pub enum Event<'a> {
    /// All threads are ready and begin to work.
    Begins { notice: Option<&'a str> },
    /// Ten times a second.
    Progress(Progress),
}

impl Options {
    fn threads(&self) -> Result<usize, StressError> {
        let default = self.cores.as_ref().map_or(1, Cores::count) as u64;
        let threads = self.threads.unwrap_or(default);
        match usize::try_from(threads) {
            Ok(threads @ 1..=MOST_THREADS) => Ok(threads),
            _ => usage(format!("--threads {threads}: it must be from 1 to {MOST_THREADS}")),
        }
    }

    fn check(&self) -> Result<(), StressError> {
        if self.duration == Some(Duration::ZERO) {
            return usage("--duration 0s: it must be above zero".to_owned());
        }
        Ok(())
    }

    fn resource(&self, threads: usize) -> Result<Box<dyn Resource + '_>, StressError> {
        let core = self.cores.as_ref().and_then(|cores| cores.0.first().copied()).unwrap_or(0);
        Ok(match &self.work {
            Work::Cpu => Box::new(cpu::Cpu),
            Work::Cache(options) => Box::new(cache::Cache::new(options, threads, core)?),
            Work::Memory(options) => Box::new(memory::Memory::new(options, threads, core)?),
            Work::Network(options) => Box::new(network::Network::new(options)?),
            Work::Disk(options) => Box::new(disk::Disk::new(options, threads)?),
            Work::Fork(options) => Box::new(fork::Fork::new(options)?),
        })
    }
}

/// Works until the duration is over or the run is stopped. Must be called by the thread that created `stop`.
pub fn run(options: &Options, stop: &Stop, observe: &mut dyn FnMut(Event<'_>)) -> Result<Total, StressError> {
    options.check()?;
    let threads = options.threads()?;
    let resource = options.resource(threads)?;
    let counts: Vec<Counts> = (0..threads).map(|_| Counts::default()).collect();
    let crew =
        Crew { options, resource: &*resource, counts: &counts, stop, gate: OnceLock::new(), closed: OnceLock::new() };
    let measured = thread::scope(|scope| {
        let (ready, outcomes) = mpsc::channel();
        let (working, ended) = mpsc::channel();
        let mut handles = Vec::with_capacity(threads);
        let mut result = Ok(());
        for index in 0..threads {
            let (crew, ready, working) = (&crew, ready.clone(), working.clone());
            let thread = thread::Builder::new().name(format!("stress-{index}"));
            match thread.spawn_scoped(scope, move || crew.work(index, ready, working)) {
                Ok(handle) => handles.push(handle),
                Err(error) => {
                    result = failed(format!(
                        "cannot start thread {} of {threads}: {error}; choose fewer --threads",
                        index + 1
                    ));
                    break;
                }
            }
        }
        drop((ready, working));
        for outcome in outcomes {
            result = result.and(outcome);
        }
        if result.is_err() {
            stop.stop();
        }
        crew.measure(result, handles, &ended, observe)
    });
    let Measured { elapsed, cpu_s } = measured?;
    Ok(total(options, &*resource, &counts, elapsed, cpu_s))
}

/// What the threads of a run share.
struct Crew<'a> {
    options: &'a Options,
    resource: &'a dyn Resource,
    counts: &'a [Counts],
    stop: &'a Stop,
    /// Set when the measured time begins.
    gate: OnceLock<()>,
    /// Set when it has ended.
    closed: OnceLock<()>,
}

struct Measured {
    elapsed: Duration,
    cpu_s: Option<f64>,
}

impl Crew<'_> {
    /// The life of one thread, which holds `working` until its work has ended.
    fn work(
        &self,
        index: usize,
        ready: Sender<Result<(), StressError>>,
        working: Sender<Infallible>,
    ) -> Result<(), StressError> {
        let core = self.options.cores.as_ref().map(|cores| cores.0[index % cores.count()]);
        let pinned = core.map_or(Ok(()), affinity::pin);
        let worker = pinned.and_then(|()| self.resource.worker(index, self.stop));
        let (worker, outcome) = match worker {
            Ok(worker) => (Some(worker), Ok(())),
            Err(error) => (None, Err(error)),
        };
        // The receiver lives until all senders are gone.
        let _ = ready.send(outcome);
        drop(ready);
        self.gate.wait();
        let Some(mut worker) = worker else { return Ok(()) };
        let outcome = self.steps(index, &mut *worker);
        drop(working);
        // To free the working set takes time that is not measured.
        self.closed.wait();
        outcome
    }

    fn steps(&self, index: usize, worker: &mut dyn Worker) -> Result<(), StressError> {
        let counts = &self.counts[index];
        let mut pacer = Pacer::new(self.options.dose, self.counts.len(), self.resource.figure().work_time);
        while !self.stop.is_stopped() {
            let done = worker.step().inspect_err(|_| self.stop.stop())?;
            counts.add(done, worker.other());
            pacer.after_step(done, self.stop);
        }
        let done = worker.finish()?;
        counts.add(done, worker.other());
        Ok(())
    }

    /// Opens the gate, waits for the end and joins all threads. With an error, the threads end at once.
    fn measure(
        &self,
        mut result: Result<(), StressError>,
        handles: Vec<ScopedJoinHandle<'_, Result<(), StressError>>>,
        ended: &Receiver<Infallible>,
        observe: &mut dyn FnMut(Event<'_>),
    ) -> Result<Measured, StressError> {
        if result.is_ok() {
            observe(Event::Begins { notice: self.resource.notice().as_deref() });
        }
        let (start, cpu_before) = (Instant::now(), cpu_time::of_run());
        self.gate.get_or_init(|| ());
        let end = self.options.duration.and_then(|duration| start.checked_add(duration));
        let mut next = start + PERIOD;
        while !self.stop.is_stopped() && end.is_none_or(|end| Instant::now() < end) {
            self.stop.wait_until(end.map_or(next, |end| end.min(next)));
            let elapsed = start.elapsed();
            let is_over = self.stop.is_stopped() || self.options.duration.is_some_and(|duration| elapsed >= duration);
            if start + elapsed >= next && !is_over {
                let (done, _) = Counts::sum(self.counts);
                observe(Event::Progress(Progress { elapsed, done, unit: self.resource.figure().unit }));
                next = (next + PERIOD).max(start + elapsed);
            }
        }
        self.stop.stop();
        // An error: all threads have dropped their senders.
        let _ = ended.recv();
        let elapsed = start.elapsed();
        let cpu_s = cpu_time::of_run().zip(cpu_before).map(|(after, before)| after - before);
        self.closed.get_or_init(|| ());
        for handle in handles {
            let outcome = handle.join().unwrap_or_else(|_| failed("a thread of the co-runner panicked".to_owned()));
            result = result.and(outcome);
        }
        result.map(|()| Measured { elapsed, cpu_s })
    }
}

fn total(
    options: &Options,
    resource: &dyn Resource,
    counts: &[Counts],
    elapsed: Duration,
    cpu_s: Option<f64>,
) -> Total {
    let figure = resource.figure();
    let (done, other) = Counts::sum(counts);
    let elapsed_s = elapsed.as_secs_f64();
    let when = |meaning| (figure.other == meaning).then_some(other);
    let (share, target_rate_per_s) = match options.dose {
        Dose::Full => (None, None),
        Dose::Share(share) => (Some(share), None),
        Dose::Rate(rate) => (None, Some(rate)),
    };
    Total {
        resource: figure.resource,
        unit: figure.unit,
        threads: counts.len(),
        cores: options.cores.clone(),
        share,
        target_rate_per_s,
        size_bytes: resource.size(),
        elapsed_s,
        done,
        rate_per_s: done as f64 / elapsed_s,
        cpu_s,
        received: when(Other::Received),
        refused: when(Other::Refused),
    }
}
