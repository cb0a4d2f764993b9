//! Instructions and cycles of a set of threads and of all threads they create.
//!
//! One ungrouped counter per event and thread (a group of three is never scheduled if only two hardware counters are free),
//! each scaled by the share of time it was counting. `inherit` covers threads and processes forked after the attachment; the
//! kernel adds their counts to the parent counter when they end (perf_event_open(2)).
//!
//! Invariant: a sum over only some of the threads is never given; the figure is absent instead.

use crate::{proc, process::Tree};
use perf_event::{Builder, Counter, events};
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::{fs, fs::File, io, time::Duration};

/// Most threads that counters are attached to: each costs a descriptor and work at every context switch.
pub const MAX_THREADS: usize = 1024;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Event {
    InstructionsUser,
    InstructionsKernel,
    /// User and kernel.
    Cycles,
    /// Misses of the last-level cache, user and kernel.
    CacheMisses,
    /// Nanoseconds on a processor, a software event: works without hardware counters.
    TaskClock,
}

impl Event {
    pub const RESULT: [Self; 3] = [Self::InstructionsUser, Self::InstructionsKernel, Self::Cycles];

    fn builder(self) -> Builder<'static> {
        let mut builder = match self {
            Self::InstructionsUser | Self::InstructionsKernel => Builder::new(events::Hardware::INSTRUCTIONS),
            Self::Cycles => Builder::new(events::Hardware::CPU_CYCLES),
            Self::CacheMisses => Builder::new(events::Hardware::CACHE_MISSES),
            Self::TaskClock => Builder::new(events::Software::TASK_CLOCK),
        };
        builder.exclude_user(self == Self::InstructionsKernel);
        builder.exclude_kernel(!matches!(self, Self::InstructionsKernel | Self::Cycles | Self::CacheMisses));
        builder
    }

    fn name(self) -> &'static str {
        match self {
            Self::InstructionsUser => "user instructions",
            Self::InstructionsKernel => "kernel instructions",
            Self::Cycles => "cycles",
            Self::CacheMisses => "cache misses",
            Self::TaskClock => "the task clock",
        }
    }
}

/// What there is of each event, one for each thread, or why there is nothing.
type PerEvent<T> = BTreeMap<Event, Result<Vec<T>, String>>;

/// Counters attached to a set of threads, counting until dropped.
#[derive(Debug)]
pub struct Counters(PerEvent<Counter>);

/// The values of all counters at one moment.
#[derive(Debug, Clone)]
pub struct Reading(PerEvent<Raw>);

#[derive(Debug, Clone, Copy)]
struct Raw {
    count: u64,
    enabled: Duration,
    running: Duration,
}

impl Counters {
    /// Attaches to every thread of the tree and to all threads they create.
    pub fn attach_tree(tree: &mut Tree, events: &[Event]) -> Self {
        let mut threads = threads_of(tree);
        // A thread created meanwhile is counted only if its creator already was, which is unknown: repeats until no thread
        // was created during the attachment.
        for _ in 0..5 {
            let counters = Self::attach(&threads, events, true);
            let now = threads_of(tree);
            if now.is_subset(&threads) {
                return counters;
            }
            threads = now;
        }
        Self::absent(events, "the server kept creating threads while counters were attached".to_owned())
    }

    /// Attaches to all threads of these processes, and to all threads and processes that they create.
    pub fn attach_processes(pids: &[u32], events: &[Event]) -> Self {
        Self::attach(&pids.iter().copied().flat_map(proc::threads_of).collect(), events, true)
    }

    /// Attaches to these threads only.
    pub fn attach_threads(threads: &[u32], events: &[Event]) -> Self {
        Self::attach(&threads.iter().copied().collect(), events, false)
    }

    /// Attaches to these cores, for all that runs there or for the processes of a control group, by its directory.
    pub fn attach_cores(cores: &[usize], group: Option<&File>, events: &[Event]) -> Self {
        let attach = |event: Event| {
            let on = |core: &usize| {
                let mut builder: Builder<'_> = event.builder();
                match group {
                    Some(group) => builder.observe_cgroup(group),
                    None => builder.any_pid(),
                };
                builder.enabled(true).one_cpu(*core).build().map_err(|error| why(event, &error))
            };
            cores.iter().map(on).collect()
        };
        Self(events.iter().map(|event| (*event, attach(*event))).collect())
    }

    fn attach(threads: &BTreeSet<u32>, events: &[Event], inherit: bool) -> Self {
        if threads.len() > MAX_THREADS {
            let count = threads.len();
            return Self::absent(events, format!("{count} threads; counters are attached to {MAX_THREADS} at most"));
        }
        let attach = |event: Event| {
            let mut builder = event.builder();
            builder.enabled(true).inherit(inherit);
            let mut counters = Vec::with_capacity(threads.len());
            for tid in threads {
                match builder.observe_pid(*tid as i32).build() {
                    Ok(counter) => counters.push(counter),
                    // The thread has ended.
                    Err(error) if error.raw_os_error() == Some(libc::ESRCH) => (),
                    Err(error) => return Err(why(event, &error)),
                }
            }
            if counters.is_empty() { Err("no thread was left to count".to_owned()) } else { Ok(counters) }
        };
        Self(events.iter().map(|event| (*event, attach(*event))).collect())
    }

    fn absent(events: &[Event], reason: String) -> Self {
        Self(events.iter().map(|event| (*event, Err(reason.clone()))).collect())
    }

    pub fn read(&mut self) -> Reading {
        let read_all = |event: Event, counters: &mut Vec<Counter>| {
            let read = |counter: &mut Counter| {
                let data = counter.read_full().map_err(|error| why(event, &error))?;
                let time = |time: Option<Duration>| time.ok_or_else(|| "the kernel gave no counting times".to_owned());
                Ok(Raw {
                    count: data.count(),
                    enabled: time(data.time_enabled())?,
                    running: time(data.time_running())?,
                })
            };
            counters.iter_mut().map(read).collect()
        };
        let events = self.0.iter_mut().map(|(event, counters)| match counters {
            Ok(counters) => (*event, read_all(*event, counters)),
            Err(reason) => (*event, Err(reason.clone())),
        });
        Reading(events.collect())
    }
}

impl Reading {
    /// The count of an event from `earlier` to this reading, scaled up for multiplexing.
    pub fn since(&self, earlier: &Reading, event: Event) -> Result<f64, String> {
        let missing = || Err(format!("{} were not counted", event.name()));
        let now = self.0.get(&event).cloned().unwrap_or_else(missing)?;
        let before = earlier.0.get(&event).cloned().unwrap_or_else(missing)?;
        let mut sum = 0.0;
        for (now, before) in now.iter().zip(&before) {
            let count = now.count.saturating_sub(before.count) as f64;
            let enabled = now.enabled.saturating_sub(before.enabled).as_secs_f64();
            let running = now.running.saturating_sub(before.running).as_secs_f64();
            if running > 0.0 {
                sum += count * enabled / running;
            } else if enabled > 0.0 {
                return Err(format!("the processor had no free counter for {} of a thread", event.name()));
            }
        }
        Ok(sum)
    }
}

fn threads_of(tree: &mut Tree) -> BTreeSet<u32> {
    tree.sample();
    tree.pids().into_iter().flat_map(proc::threads_of).collect()
}

fn why(event: Event, error: &io::Error) -> String {
    let name = event.name();
    match Errno::from_io_error(error) {
        Some(Errno::NOENT | Errno::OPNOTSUPP | Errno::NODEV) => {
            // Without the name, so that the events share one reason.
            "this machine has no such hardware counter (a virtual machine often has none)".to_owned()
        }
        Some(Errno::NOSYS) => "this kernel has no perf_event_open, or a sandbox forbids it".to_owned(),
        Some(Errno::ACCESS | Errno::PERM) => {
            let paranoid = fs::read_to_string("/proc/sys/kernel/perf_event_paranoid");
            let paranoid = paranoid.map_or("unknown".to_owned(), |text| text.trim().to_owned());
            format!(
                "hardware counters are forbidden: run as the server's user with kernel.perf_event_paranoid at 1 or \
                 below (it is {paranoid}), or with CAP_PERFMON"
            )
        }
        Some(Errno::MFILE | Errno::NFILE) => {
            "too few open files are allowed for a counter of every thread; raise `ulimit -n`".to_owned()
        }
        _ => format!("{name} cannot be counted: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reading(raw: &[(u64, u64, u64)]) -> Reading {
        let raw = raw.iter().map(|(count, enabled, running)| Raw {
            count: *count,
            enabled: Duration::from_millis(*enabled),
            running: Duration::from_millis(*running),
        });
        Reading(BTreeMap::from([(Event::Cycles, Ok(raw.collect()))]))
    }

    #[test]
    fn counts_are_scaled_by_the_time_counted_and_absences_have_a_reason() {
        let first = reading(&[(100, 10, 10), (0, 0, 0)]);
        let last = reading(&[(1100, 20, 15), (40, 10, 10)]);
        // The first counted half of the time, the second all of it.
        assert_eq!(last.since(&first, Event::Cycles), Ok(2040.0));
        assert_eq!(last.since(&last, Event::Cycles), Ok(0.0));
        let (first, last) = (reading(&[(0, 0, 0)]), reading(&[(0, 10, 0)]));
        assert!(last.since(&first, Event::Cycles).unwrap_err().contains("no free counter"));
        assert!(last.since(&first, Event::InstructionsUser).is_err());
        let threads: Vec<u32> = (1..=2000).collect();
        let mut counters = Counters::attach_threads(&threads, &[Event::TaskClock]);
        let reading = counters.read();
        assert!(reading.since(&reading, Event::TaskClock).unwrap_err().starts_with("2000 threads"));
        let os = |errno: i32| why(Event::Cycles, &io::Error::from_raw_os_error(errno));
        assert!(os(libc::EACCES).contains("perf_event_paranoid"));
        assert!(os(libc::ENOENT).contains("virtual machine"));
        assert!(os(libc::EMFILE).contains("ulimit -n"));
    }
}
