//! CPU time of a process tree, exact at the moment of reading.
//!
//! Two sources. The CPU clock of a process costs the process nothing and is exact while its threads sleep, as those of a server
//! without requests do; a read waits for that for a moment. The task clock of perf events is exact for running threads too,
//! but adds about 0.35 us of CPU time to each context switch of the server: it is attached only to a tree that runs while it has nothing to do,
//! or whose children end, as those are known in ticks of 10 ms otherwise.
//!
//! Invariant: the value never falls, also when the source changes.

use super::running::Running;
use crate::counters::{Counters, Event, Reading};
use crate::process::{Snapshot, Tree};
use crate::sampling_budget::SamplingBudget;
use std::fmt;
use std::time::{Duration, Instant};

/// Longest wait of a read for the threads to sleep.
const SETTLE: Duration = Duration::from_micros(500);
const LOOK_AGAIN: Duration = Duration::from_micros(20);
/// Most threads that the task clock is attached to: each read interrupts those that run.
const MAX_CLOCKED_THREADS: u64 = 256;
/// The task clock is attached once so many reads, and a tenth of all, found a thread running.
const UNSETTLED_READS: u32 = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CpuSource {
    /// perf_event_open(2), a software event; contains interrupts and stolen time.
    TaskClock,
    /// The CPU clock of each process.
    ProcessClock,
}

impl CpuSource {
    /// Whether interrupt time may be missing: [`super::IrqTime`] is to be added.
    pub fn leaves_out_interrupts(self) -> bool {
        self == Self::ProcessClock
    }
}

impl fmt::Display for CpuSource {
    /// For the line under a table.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TaskClock => "task clock (perf events)",
            Self::ProcessClock => "process CPU clock, read while the target idles",
        })
    }
}

/// CPU time of a process and its descendants, threads and processes created later included.
#[derive(Debug)]
pub struct ServerCpu {
    tree: Tree,
    newest: Snapshot,
    first: Snapshot,
    running: Running,
    search: SamplingBudget,
    reads: u32,
    /// Reads that found a thread running after the wait.
    unsettled: u32,
    clock: Option<TaskClock>,
    /// Why the task clock cannot be attached, once it was needed.
    no_clock: Option<String>,
    total: Duration,
}

#[derive(Debug)]
struct TaskClock {
    counters: Counters,
    first: Reading,
    /// CPU time before it was attached.
    base: Duration,
}

impl ServerCpu {
    /// Begins with process clocks. Takes a few milliseconds.
    pub fn attach(pid: u32) -> Result<Self, String> {
        Self::attach_all(&[pid])
    }

    /// The same of several processes and their descendants.
    pub fn attach_all(roots: &[u32]) -> Result<Self, String> {
        let mut tree = Tree::new(roots)?;
        let first = tree.sample();
        Ok(Self {
            tree,
            newest: first,
            first,
            running: Running::default(),
            search: SamplingBudget::default(),
            reads: 0,
            unsettled: 0,
            clock: None,
            no_clock: None,
            total: Duration::ZERO,
        })
    }

    /// Begins with the task clock, for a tree known to run while it has no work; the error is why it cannot be attached.
    pub fn attach_task_clock(pid: u32) -> Result<Self, String> {
        let mut cpu = Self::attach(pid)?;
        cpu.use_task_clock();
        cpu.no_clock.take().map_or(Ok(cpu), Err)
    }

    pub fn source(&self) -> CpuSource {
        if self.clock.is_some() { CpuSource::TaskClock } else { CpuSource::ProcessClock }
    }

    /// The processes, as last seen.
    pub fn pids(&self) -> Vec<u32> {
        self.tree.pids()
    }

    /// Resident memory at the last read, in bytes; shared pages count once per process.
    pub fn rss_bytes(&self) -> u64 {
        self.newest.rss_bytes
    }

    /// CPU time since the attachment; `None` if no process of the tree is left. To be called while the server has no requests.
    pub fn read(&mut self) -> Option<Duration> {
        self.reads += 1;
        if self.clock.is_none() && !self.settle() {
            self.unsettled += 1;
        }
        let clocked = self.clock.as_mut().and_then(TaskClock::read);
        self.newest = self.search.take(|| self.tree.sample()).unwrap_or_else(|| self.tree.sample_members());
        if !self.newest.alive {
            return None;
        }
        let now = match self.clock {
            Some(_) => clocked?,
            None => self.newest.since(&self.first).total(),
        };
        self.total = self.total.max(now);
        if self.needs_task_clock() {
            self.use_task_clock();
        }
        Some(self.total)
    }

    /// Waits until no thread runs; false if one still does.
    fn settle(&mut self) -> bool {
        let begin = Instant::now();
        while self.running.any(&self.tree) == Some(true) {
            if begin.elapsed() >= SETTLE {
                return false;
            }
            std::thread::sleep(LOOK_AGAIN);
        }
        true
    }

    fn needs_task_clock(&self) -> bool {
        let runs = self.unsettled >= UNSETTLED_READS && self.unsettled * 10 >= self.reads;
        let forks = self.newest.reaped_since(&self.first) > Duration::ZERO;
        self.clock.is_none() && self.no_clock.is_none() && (runs || forks)
    }

    fn use_task_clock(&mut self) {
        let base = self.total;
        match TaskClock::attach(&mut self.tree, base) {
            Ok(clock) => self.clock = Some(clock),
            Err(why) => self.no_clock = Some(why),
        }
    }
}

impl TaskClock {
    fn attach(tree: &mut Tree, base: Duration) -> Result<Self, String> {
        let threads = tree.sample().threads;
        if threads > MAX_CLOCKED_THREADS {
            return Err(format!("{threads} threads; the task clock is attached to {MAX_CLOCKED_THREADS} at most"));
        }
        let mut counters = Counters::attach_tree(tree, &[Event::TaskClock]);
        let first = counters.read();
        first.since(&first, Event::TaskClock)?;
        Ok(Self { counters, first, base })
    }

    fn read(&mut self) -> Option<Duration> {
        let nanos = self.counters.read().since(&self.first, Event::TaskClock).ok()?;
        Some(self.base + Duration::from_nanos(nanos as u64))
    }
}
