//! CPU, memory, page faults and threads of a whole process tree, now and over a window.
//!
//! Precision. The total comes from the CPU clock of each process (nanoseconds; a running thread is accounted up to its
//! last scheduler tick), and so do the times of single threads (`schedstat`). How the total divides into user and
//! system is known only in ticks of 10 ms, so the total is divided as `utime : stime` of `/proc/PID/stat` changed; on
//! kernels with tick accounting that split is itself a sample of where the ticks fell. Children that ended are known in
//! ticks. The kernel charges interrupts, and the network work done in them, to whichever thread they hit unless it was
//! built with IRQ_TIME_ACCOUNTING.

use crate::{
    proc,
    process_tree::{ProcessTree, Used},
    sampling_budget::SamplingBudget,
    threads::{self, ThreadTimes, Times},
};
use std::{
    collections::BTreeSet,
    time::{Duration, Instant},
};

pub use crate::threads::Switches;

/// A process tree under observation: one or more processes and everything they fork.
#[derive(Debug)]
pub struct Tree {
    ledger: ProcessTree,
}

/// What a tree had used at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    /// When.
    pub at: Instant,
    used: Used,
    /// Resident memory of all its processes, in bytes; pages they share count once for each.
    pub rss_bytes: u64,
    /// Threads of all its processes.
    pub threads: u64,
    /// Whether anything of it still ran.
    pub alive: bool,
}

/// Page faults of an interval.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    /// Pages mapped without reading a disk.
    pub minor: u64,
    /// Pages that had to be read from a disk.
    pub major: u64,
}

/// CPU time of an interval.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTime {
    /// Wall time of the interval.
    pub wall: Duration,
    /// In user mode.
    pub user: Duration,
    /// In the kernel.
    pub system: Duration,
}

impl CpuTime {
    /// User and system.
    pub fn total(&self) -> Duration {
        self.user + self.system
    }
    /// User mode, in percent of one core.
    pub fn user_percent(&self) -> f64 {
        percent(self.user, self.wall)
    }
    /// System mode, in percent of one core.
    pub fn system_percent(&self) -> f64 {
        percent(self.system, self.wall)
    }
}

fn percent(cpu: Duration, wall: Duration) -> f64 {
    cpu.as_secs_f64() / wall.as_secs_f64().max(1e-9) * 100.0
}

impl Snapshot {
    /// CPU time from `earlier` to this snapshot of the same tree.
    pub fn since(&self, earlier: &Snapshot) -> CpuTime {
        let cpu = self.used.minus(earlier.used);
        // Less than a tick in the interval: the best known proportion is that of the whole life.
        let split = if cpu.user_ticks + cpu.system_ticks > 0 { cpu } else { self.used };
        let ticks = split.user_ticks + split.system_ticks;
        let user_share = if ticks > 0 { split.user_ticks as f64 / ticks as f64 } else { 1.0 };
        let user = Duration::from_nanos((cpu.nanos as f64 * user_share).round() as u64);
        CpuTime {
            wall: self.at.saturating_duration_since(earlier.at),
            user,
            system: Duration::from_nanos(cpu.nanos).saturating_sub(user),
        }
    }

    /// Page faults from `earlier` to this snapshot of the same tree.
    pub fn faults_since(&self, earlier: &Snapshot) -> Faults {
        let used = self.used.minus(earlier.used);
        Faults { minor: used.minor_faults, major: used.major_faults }
    }
}

impl Tree {
    /// Begins to observe these processes and their descendants (the calling process excepted, unless it is named).
    ///
    /// # Errors
    /// The reason, when one of them does not exist or has already ended.
    pub fn new(roots: &[u32]) -> Result<Self, String> {
        for pid in roots {
            match proc::Stat::of(*pid) {
                None => return Err(format!("there is no process {pid} that can be seen from here")),
                Some(stat) if stat.ended => return Err(format!("process {pid} has ended")),
                Some(_) => (),
            }
        }
        Ok(Self { ledger: ProcessTree::open(roots) })
    }

    /// Looks at the whole tree. Takes some 20 us for each process, and a few milliseconds more when anything on the
    /// machine was forked since the last look.
    pub fn sample(&mut self) -> Snapshot {
        let used = self.ledger.refresh();
        let (mut rss_bytes, mut threads) = (0, 0);
        for member in self.ledger.members().filter(|m| !m.stat.ended) {
            rss_bytes += member.stat.rss_bytes;
            threads += member.stat.threads;
        }
        Snapshot { at: Instant::now(), used, rss_bytes, threads, alive: self.ledger.is_alive() }
    }

    /// Process ids of the living members, as of the last sample.
    pub fn pids(&self) -> Vec<u32> {
        self.ledger.members().filter(|m| !m.stat.ended).map(|m| m.stat.pid).collect()
    }

    /// Resident memory that no file holds, in bytes; nothing when a process ended while it was read.
    pub fn rss_anon_bytes(&self) -> Option<u64> {
        self.sum(proc::anon_bytes)
    }

    fn sum(&self, of: impl Fn(u32) -> Option<u64>) -> Option<u64> {
        let all: Option<Vec<u64>> = self.pids().into_iter().map(of).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }

    fn thread_times(&self, threads: u64) -> Option<ThreadTimes> {
        (threads <= threads::MOST_THREADS).then(|| threads::read(self.pids().into_iter()))
    }
}

/// What a tree used between opening and closing.
#[derive(Debug, Clone)]
pub struct Usage {
    /// CPU time of the whole tree.
    pub cpu: CpuTime,
    /// CPU of its busiest thread, in percent of one core; absent with more than 10 000 threads.
    pub busiest_thread_percent: Option<f64>,
    /// How long its busiest thread was ready to run and waited for a core, in percent of the window. Absent where the
    /// kernel does not say, and where more threads worked than there were cores, which wait for each other.
    pub run_queue_wait_percent: Option<f64>,
    /// Page faults of the whole tree.
    pub faults: Faults,
    /// How often its threads left their cores; absent with more than 10 000 threads, and when a thread was seen to have
    /// ended. A thread that began and ended between two looks is not in it.
    pub switches: Option<Switches>,
    /// Resident memory at the end, in bytes.
    pub rss_bytes: u64,
    /// Largest resident memory since the processes began, in bytes (the sum of each one's own peak).
    pub rss_peak_bytes: Option<u64>,
    /// Resident memory at the end that no file holds, in bytes.
    pub rss_anon_bytes: Option<u64>,
    /// Threads at the end.
    pub threads: u64,
    /// The cores on which the threads that did the work may run.
    pub cores: Option<Vec<usize>>,
    /// Whether the tree was still running at the end.
    pub alive: bool,
}

/// An open window over a tree.
#[derive(Debug)]
pub struct Window {
    first: Snapshot,
    threads_at: Instant,
    threads_first: Option<ThreadTimes>,
    threads_newest: ThreadTimes,
    ration: SamplingBudget,
}

impl Window {
    /// Opens the window now.
    pub fn open(tree: &mut Tree) -> Self {
        let first = tree.sample();
        let threads_at = Instant::now();
        let mut ration = SamplingBudget::default();
        let threads_first = ration.spend(|| tree.thread_times(first.threads));
        let threads_newest = threads_first.clone().unwrap_or_default();
        Self { first, threads_at, threads_first, threads_newest, ration }
    }

    /// When it opened.
    pub fn opened(&self) -> &Snapshot {
        &self.first
    }

    /// Looks at the threads, so that one that ends before the window closes is remembered, and says how often they have
    /// left their cores since the window opened. Nothing when looking again so soon would cost too much.
    pub fn look_at_threads(&mut self, tree: &Tree, snapshot: &Snapshot) -> Option<Switches> {
        let first = self.threads_first.as_ref()?;
        let newest = self.ration.take(|| tree.thread_times(snapshot.threads))??;
        threads::fold(&mut self.threads_newest, newest);
        threads::switches(first, &self.threads_newest)
    }

    /// Closes the window now.
    pub fn close(mut self, tree: &mut Tree) -> Usage {
        // Totals first, as in `open`: whatever else takes time shifts both ends alike.
        let last = tree.sample();
        let threads_wall = self.threads_at.elapsed();
        let newest = tree.thread_times(last.threads);
        let complete = self.threads_first.is_some() && newest.is_some();
        let newest = newest.unwrap_or_default();
        let all_live = self.threads_newest.keys().all(|tid| newest.contains_key(tid));
        threads::fold(&mut self.threads_newest, newest);
        let first = self.threads_first.unwrap_or_default();
        let used: Vec<_> = threads::used(&first, &self.threads_newest).collect();
        let busiest = used.iter().map(|(_, times)| *times).max_by_key(|times| times.cpu).filter(|_| complete);
        let of_wall = |nanos: u64| percent(Duration::from_nanos(nanos), threads_wall);
        let workers = working_threads(tree, &used);
        let cores = allowed_cores(&workers);
        let alone = cores.as_ref().is_some_and(|cores| workers.len() <= cores.len());
        let peaks = tree.sum(proc::peak_rss_bytes);
        Usage {
            cpu: last.since(&self.first),
            faults: last.faults_since(&self.first),
            switches: threads::switches(&first, &self.threads_newest).filter(|_| complete && all_live),
            busiest_thread_percent: busiest.map(|times| of_wall(times.cpu)),
            run_queue_wait_percent: busiest.filter(|_| alone).and_then(|times| times.wait).map(of_wall),
            rss_bytes: last.rss_bytes,
            rss_peak_bytes: peaks.map(|sum| sum.max(last.rss_bytes)),
            rss_anon_bytes: tree.rss_anon_bytes(),
            threads: last.threads,
            cores,
            alive: last.alive,
        }
    }
}

/// The threads that did at least a hundredth of the work each; of an idle tree, the first thread of each process. Threads
/// that only manage others are often left unpinned and would hide the pinning.
fn working_threads(tree: &Tree, used: &[(u32, Times)]) -> Vec<u32> {
    let all: u64 = used.iter().map(|(_, times)| times.cpu).sum();
    let workers: Vec<u32> = used.iter().filter(|(_, times)| times.cpu * 100 > all).map(|(tid, _)| *tid).collect();
    if workers.is_empty() { tree.pids() } else { workers }
}

/// The union of the cores allowed to each of these threads.
fn allowed_cores(threads: &[u32]) -> Option<Vec<usize>> {
    let mut cores = BTreeSet::new();
    for tid in threads {
        // A thread id may stand for a process in a path below /proc, though no listing shows it.
        let allowed = proc::status_line(&format!("/proc/{tid}/status"), "Cpus_allowed_list");
        cores.extend(allowed.and_then(|list| list.parse::<brunt_results::Cores>().ok()).into_iter().flat_map(|c| c.0));
    }
    (!cores.is_empty()).then(|| cores.into_iter().collect())
}
