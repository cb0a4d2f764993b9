//! What the machine and other programs did while a test measured: the evidence by which a measured difference counts, or does not.
//!
//! Three signals, none of which depends on the load that the test itself makes:
//! - pauses: a thread on each core sleeps by timer and compares clocks. What it is late by, less what the scheduler says that
//!   it waited for the core, is time in which the core stood still: a paused virtual machine, a lent core, a frozen group.
//! - stolen time, as the hypervisor reports it.
//! - CPU time of other programs: what `/proc/stat` counts on all cores, less that of the test program and its descendants.
//!
//! Pressure (`/proc/pressure`) and the run queue wait of the watching threads are no signals: threads of the test itself raise them.

use crate::machine::{Machine, waited};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use std::thread::{self, JoinHandle, sleep};
use std::time::{Duration, Instant};

/// Of the watching threads: a pause is seen from the moment at which the sleep should have ended.
const SLEEP: Duration = Duration::from_millis(2);
/// A core of a virtual machine takes up to 0.2 ms to wake.
const LEAST_PAUSE: Duration = Duration::from_micros(500);

/// A single pause from which on the machine counts as disturbed.
const LONG_PAUSE: Duration = Duration::from_millis(5);
/// The same of all pauses of a core and of stolen time, as a share of the time.
const LOST: f64 = 0.01;
/// The same of the CPU time of other programs, in cores, and the least that ticks can show.
const OTHERS: f64 = 0.05;
const LEAST_OTHERS: Duration = Duration::from_millis(30);

/// Sums over the time of a [`Watch`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Disturbance {
    /// Length of the watch.
    pub time: Duration,
    /// The longest pause of any core.
    pub longest_pause: Duration,
    /// Pauses of the core that stood still longest.
    pub paused: Duration,
    /// Stolen from a core, as a mean.
    pub stolen: Duration,
    /// CPU time of other programs, on all cores.
    pub others: Duration,
}

impl Disturbance {
    /// Whether a difference measured meanwhile may be due to it.
    pub fn disturbs(&self) -> bool {
        let others = self.time.mul_f64(OTHERS).max(LEAST_OTHERS);
        self.longest_pause >= LONG_PAUSE
            || self.paused.max(self.stolen) > self.time.mul_f64(LOST)
            || self.others > others
    }
}

impl fmt::Display for Disturbance {
    /// Part of a line of evidence.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        write!(f, "in {:.0} ms a core paused for {:.1} ms", ms(self.time), ms(self.paused))?;
        write!(f, " (at once {:.1} ms), {:.0} ms were stolen", ms(self.longest_pause), ms(self.stolen))?;
        write!(f, ", other programs used {:.0} ms of CPU time", ms(self.others))
    }
}

/// Threads that watch the cores on which the calling thread may run, until [`Watch::end`].
pub struct Watch {
    began: Instant,
    machine: Machine,
    stop: Arc<AtomicBool>,
    /// What the thread of each core has seen.
    cores: Vec<(Arc<Pauses>, JoinHandle<()>)>,
}

/// Of one core, in nanoseconds.
#[derive(Debug, Default)]
struct Pauses {
    sum: AtomicU64,
    longest: AtomicU64,
}

impl Watch {
    /// From now on.
    pub fn begin() -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let allowed = sched_getaffinity(None).expect("the allowed cores");
        let cores = (0..CpuSet::MAX_CPU).filter(|core| allowed.is_set(*core)).map(|core| {
            let pauses = Arc::new(Pauses::default());
            let (own, stop) = (pauses.clone(), stop.clone());
            (pauses, thread::spawn(move || watch(core, &own, &stop)))
        });
        let cores = cores.collect();
        Self { began: Instant::now(), machine: Machine::now(), stop, cores }
    }

    /// What has been seen.
    pub fn end(self) -> Disturbance {
        let (time, machine) = (self.began.elapsed(), Machine::now());
        self.stop.store(true, Relaxed);
        let mut seen = Disturbance { time, ..Disturbance::default() };
        (seen.stolen, seen.others) = machine.since(&self.machine);
        for (pauses, thread) in self.cores {
            thread.join().expect("a thread that watches");
            seen.paused = seen.paused.max(Duration::from_nanos(pauses.sum.load(Relaxed)));
            seen.longest_pause = seen.longest_pause.max(Duration::from_nanos(pauses.longest.load(Relaxed)));
        }
        seen
    }
}

fn watch(core: usize, pauses: &Pauses, stop: &AtomicBool) {
    let mut set = CpuSet::new();
    set.set(core);
    // Where it cannot be moved it sees the pauses of the core it is on.
    let _ = sched_setaffinity(None, &set);
    let mut before = waited();
    while !stop.load(Relaxed) {
        let begin = Instant::now();
        sleep(SLEEP);
        let late = begin.elapsed().saturating_sub(SLEEP);
        let now = waited();
        let pause = pause(late, now.saturating_sub(before));
        before = now;
        pauses.sum.fetch_add(pause.as_nanos() as u64, Relaxed);
        pauses.longest.fetch_max(pause.as_nanos() as u64, Relaxed);
    }
}

/// How long the core stood still, by a thread that woke late and waited for the core meanwhile.
fn pause(late: Duration, waited: Duration) -> Duration {
    Some(late.saturating_sub(waited)).filter(|pause| *pause >= LEAST_PAUSE).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::cpu_of;
    use crate::until;
    use proptest::prelude::*;
    use std::process::Command;

    fn ms(ms: u64) -> Duration {
        Duration::from_millis(ms)
    }

    proptest! {
        #[test]
        fn waiting_for_a_core_is_no_pause(late_us in 0..100_000_u64, waited_us in 0..100_000_u64) {
            let pause = pause(Duration::from_micros(late_us), Duration::from_micros(waited_us));
            let still_us = late_us.saturating_sub(waited_us);
            prop_assert_eq!(pause.as_micros() as u64, if still_us >= 500 { still_us } else { 0 });
        }

        #[test]
        fn more_of_anything_never_disturbs_less(seen in proptest::array::uniform5(0..3000_u64), more in proptest::array::uniform4(0..3000_u64)) {
            let [time, longest, paused, stolen, others] = seen.map(ms);
            let less = Disturbance { time, longest_pause: longest, paused, stolen, others };
            let [longest, paused, stolen, others] = [longest + ms(more[0]), paused + ms(more[1]), stolen + ms(more[2]), others + ms(more[3])];
            let more = Disturbance { time, longest_pause: longest, paused, stolen, others };
            prop_assert!(more.disturbs() || !less.disturbs());
        }
    }

    #[test]
    fn each_signal_disturbs_alone() {
        let quiet = Disturbance { time: ms(1000), longest_pause: ms(4), paused: ms(9), stolen: ms(10), others: ms(50) };
        assert!(!quiet.disturbs());
        assert!(Disturbance { longest_pause: ms(5), ..quiet }.disturbs());
        assert!(Disturbance { paused: ms(11), ..quiet }.disturbs());
        assert!(Disturbance { stolen: ms(11), ..quiet }.disturbs());
        assert!(Disturbance { others: ms(51), ..quiet }.disturbs());
        // In a short time ticks are too coarse to tell.
        assert!(!Disturbance { time: ms(100), others: ms(30), ..Disturbance::default() }.disturbs());
        let told = "in 1000 ms a core paused for 9.0 ms (at once 4.0 ms), 10 ms were stolen, other programs used 50 ms of CPU time";
        assert_eq!(quiet.to_string(), told);
    }

    #[test]
    fn a_program_that_has_left_the_test_is_another_one() {
        let watch = Watch::begin();
        // It is an orphan once its shell has ended: no descendant of this process.
        let script = "sh -c 'ulimit -t 20; while :; do :; done' >/dev/null 2>&1 & echo $!";
        let output = Command::new("sh").args(["-c", script]).output().expect("a shell");
        let pid: u32 = String::from_utf8(output.stdout).unwrap().trim().parse().expect("a process number");
        until("it has used CPU time", || cpu_of(pid).is_none_or(|used| used >= ms(500)));
        let seen = watch.end();
        crate::signal(pid, crate::Signal::KILL);
        // Time of all cores is sampled.
        assert!(seen.others >= ms(250) && seen.disturbs(), "{seen}");
    }
}
