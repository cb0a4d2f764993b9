//! CPU, memory, page faults and threads of a process tree, now and over a window.
//!
//! Precision: totals come from the CPU clock of each process and times of threads from `schedstat`, in nanoseconds, with
//! running threads accounted up to their last scheduler tick. The total is split into user and system as `utime : stime` of
//! `/proc/PID/stat`, which count ticks of 10 ms, and are samples themselves on kernels with tick accounting. Ended children
//! are known in ticks. Without IRQ_TIME_ACCOUNTING, the kernel bills interrupt and softirq time, including packet receive,
//! to the thread that was running.

use crate::packet_threads::PacketTime;
use crate::proc;
use crate::process_tree::Used;
use crate::sampling_budget::SamplingBudget;
use crate::threads::{self, ThreadTimes, Times, allowed_cores};
use std::time::{Duration, Instant};

pub use crate::{process_tree::ProcessTree as Tree, threads::Switches};

/// Cumulative use of a tree at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Snapshot {
    pub at: Instant,
    used: Used,
    /// CPU time of children that ended and were waited for.
    reaped: Duration,
    /// Resident memory, in bytes; shared pages count once per process.
    pub rss_bytes: u64,
    pub threads: u64,
    /// Whether any process of it was running.
    pub alive: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Faults {
    pub minor: u64,
    /// Read from disk.
    pub major: u64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct CpuTime {
    pub wall: Duration,
    pub user: Duration,
    pub system: Duration,
}

impl CpuTime {
    pub fn total(&self) -> Duration {
        self.user + self.system
    }

    /// In percent of one core.
    pub fn user_percent(&self) -> f64 {
        percent(self.user, self.wall)
    }

    /// In percent of one core.
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
        // Without a tick in the interval, the proportion over the whole lifetime is the best estimate.
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

    /// What the tree has used, since its processes began.
    pub(crate) fn used(&self) -> Used {
        self.used
    }

    /// CPU time of children that ended and were waited for, from `earlier` to this snapshot of the same tree, in ticks.
    pub(crate) fn reaped_since(&self, earlier: &Snapshot) -> Duration {
        self.reaped.saturating_sub(earlier.reaped)
    }

    /// Page faults from `earlier` to this snapshot of the same tree.
    pub fn faults_since(&self, earlier: &Snapshot) -> Faults {
        let used = self.used.minus(earlier.used);
        Faults { minor: used.minor_faults, major: used.major_faults }
    }
}

/// CPU time of one process and of the children that it waited for, since it began. The account of a process that has ended
/// is there until its parent waits for it.
pub fn cpu_of(pid: u32) -> Option<Duration> {
    Used::by(pid).map(|used| Duration::from_nanos(used.nanos))
}

impl Tree {
    /// Observes these processes, which must exist, and their descendants, without the calling process unless it is named.
    pub fn new(roots: &[u32]) -> Result<Self, String> {
        for pid in roots {
            match proc::Stat::of(*pid) {
                None => return Err(format!("process {pid} does not exist or is not visible from here")),
                Some(stat) if stat.ended => return Err(format!("process {pid} has ended")),
                Some(_) => (),
            }
        }
        Ok(Self::observe(roots))
    }

    /// Reads the whole tree. Takes about 20 us per process, and a few milliseconds if anything on the machine was forked
    /// since the last sample.
    pub fn sample(&mut self) -> Snapshot {
        let used = self.refresh();
        self.snapshot(used)
    }

    /// Reads the known processes only: cheap whatever else the machine forks. New ones are found by the next [`Tree::sample`],
    /// with what they have used by then.
    pub(crate) fn sample_members(&mut self) -> Snapshot {
        let used = self.refresh_members();
        self.snapshot(used)
    }

    fn snapshot(&self, used: Used) -> Snapshot {
        let (mut rss_bytes, mut threads, mut reaped) = (0, 0, 0);
        for member in self.members().filter(|m| !m.stat.ended) {
            reaped += member.reaped_nanos();
            rss_bytes += member.stat.rss_bytes;
            threads += member.stat.threads;
        }
        let reaped = Duration::from_nanos(reaped);
        Snapshot { at: Instant::now(), used, reaped, rss_bytes, threads, alive: self.is_alive() }
    }

    /// Process ids of the living processes, as of the last sample.
    pub fn pids(&self) -> Vec<u32> {
        self.members().filter(|m| !m.stat.ended).map(|m| m.stat.pid).collect()
    }

    /// Anonymous resident memory, in bytes; `None` if a process ended while it was read.
    pub fn rss_anon_bytes(&self) -> Option<u64> {
        self.memory("RssAnon")
    }

    /// The sum of a memory line of `/proc/PID/status`, in bytes.
    fn memory(&self, line: &str) -> Option<u64> {
        let all: Option<Vec<u64>> = self.pids().into_iter().map(|pid| proc::memory_line(pid, line)).collect();
        all.filter(|all| !all.is_empty()).map(|all| all.iter().sum())
    }

    fn thread_times(&self, threads: u64) -> Option<ThreadTimes> {
        (threads <= threads::MAX_THREADS).then(|| threads::read(self.pids().into_iter()))
    }
}

/// Use of a tree between opening and closing of a window.
#[derive(Debug, Clone)]
pub struct Usage {
    pub cpu: CpuTime,
    /// CPU of its busiest thread, in percent of one core; absent with more than 10 000 threads.
    pub busiest_thread_percent: Option<f64>,
    /// Time that its busiest thread was runnable without a core, less that of packet threads on it, in percent of the window.
    /// Absent without scheduler statistics, and if more threads worked than there were cores, as those wait for each other.
    pub run_queue_wait_percent: Option<f64>,
    pub faults: Faults,
    /// Context switches; absent with more than 10 000 threads, and if a thread was seen to have ended. Misses threads that
    /// began and ended between two samples.
    pub switches: Option<Switches>,
    pub rss_bytes: u64,
    /// Peak resident memory since the processes began, in bytes: the sum of their peaks.
    pub rss_peak_bytes: Option<u64>,
    pub rss_anon_bytes: Option<u64>,
    pub threads: u64,
    /// Cores that the working threads may use.
    pub cores: Option<Vec<usize>>,
    pub alive: bool,
}

#[derive(Debug, Clone)]
pub struct Window {
    /// The state when it opened.
    pub first: Snapshot,
    threads_at: Instant,
    threads_first: Option<ThreadTimes>,
    threads_newest: ThreadTimes,
    packets_first: PacketTime,
    budget: SamplingBudget,
}

impl Window {
    pub fn open(tree: &mut Tree) -> Self {
        let first = tree.sample();
        let threads_at = Instant::now();
        let mut budget = SamplingBudget::default();
        let threads_first = budget.spend(|| tree.thread_times(first.threads));
        let threads_newest = threads_first.clone().unwrap_or_default();
        Self { first, threads_at, threads_first, threads_newest, packets_first: PacketTime::now(), budget }
    }

    /// Samples the threads, so that those that end before the window closes are known, and returns their context switches since
    /// the window opened. `None` while the sampling budget is used up.
    pub fn sample_threads(&mut self, tree: &Tree, snapshot: &Snapshot) -> Option<Switches> {
        let first = self.threads_first.as_ref()?;
        let newest = self.budget.take(|| tree.thread_times(snapshot.threads))??;
        self.threads_newest.extend(newest);
        threads::switches(first, &self.threads_newest)
    }

    pub fn close(mut self, tree: &mut Tree) -> Usage {
        // Totals first, as in `open`, so that both ends shift alike.
        let last = tree.sample();
        let threads_wall = self.threads_at.elapsed();
        let newest = tree.thread_times(last.threads);
        let complete = self.threads_first.is_some() && newest.is_some();
        let known = self.threads_newest.keys().copied();
        let ended: Vec<u32> =
            newest.iter().flat_map(|live| known.clone().filter(|tid| !live.contains_key(tid))).collect();
        self.threads_newest.extend(newest.unwrap_or_default());
        let first = self.threads_first.unwrap_or_default();
        let used: Vec<_> = threads::used(&first, &self.threads_newest).collect();
        let busiest = used.iter().max_by_key(|(_, times)| times.cpu).filter(|_| complete);
        let of_wall = |nanos: u64| percent(Duration::from_nanos(nanos), threads_wall);
        let workers = working_threads(tree, &used);
        let cores_of = |tids: &[u32]| {
            let live: Vec<u32> = tids.iter().copied().filter(|tid| !ended.contains(tid)).collect();
            allowed_cores(&live)
        };
        let cores = cores_of(&workers);
        let alone = cores.as_ref().is_some_and(|cores| workers.len() <= cores.len());
        let wait = busiest.filter(|_| alone).and_then(|(tid, times)| {
            let cores = cores_of(&[*tid]).unwrap_or_default();
            Some(percent(PacketTime::now().wait_for_others(&self.packets_first, &cores, times)?, threads_wall))
        });
        let peaks = tree.memory("VmHWM");
        Usage {
            cpu: last.since(&self.first),
            faults: last.faults_since(&self.first),
            switches: threads::switches(&first, &self.threads_newest).filter(|_| complete && ended.is_empty()),
            busiest_thread_percent: busiest.map(|(_, times)| of_wall(times.cpu)),
            run_queue_wait_percent: wait,
            rss_bytes: last.rss_bytes,
            rss_peak_bytes: peaks.map(|sum| sum.max(last.rss_bytes)),
            rss_anon_bytes: tree.rss_anon_bytes(),
            threads: last.threads,
            cores,
            alive: last.alive,
        }
    }
}

/// Threads that did at least 1 % of the work each; of an idle tree, the first thread of each process. Leaves out manager
/// threads, which are often not pinned.
fn working_threads(tree: &Tree, used: &[(u32, Times)]) -> Vec<u32> {
    let all: u64 = used.iter().map(|(_, times)| times.cpu).sum();
    let workers: Vec<u32> = used.iter().filter(|(_, times)| times.cpu * 100 > all).map(|(tid, _)| *tid).collect();
    if workers.is_empty() { tree.pids() } else { workers }
}
