//! The clock of a run, and the CPU time of its threads.
//!
//! Invariant: all times of a run are those of one clock, the kernel's or that of the simulated world in which the run is. Neither
//! [`Instant::now`] nor [`SystemTime::now`](std::time::SystemTime::now) is called elsewhere.

use rustix::time::{ClockId, Timespec, clock_gettime};
use std::iter;
use std::time::{Duration, Instant};

/// Nanoseconds of CLOCK_MONOTONIC since the run was set up. Reading it is a call into the vDSO.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    zero: Instant,
}

impl Clock {
    pub fn start() -> Self {
        Self { zero: now() }
    }

    /// A clock that was at zero when CLOCK_MONOTONIC, which all processes of a machine share, was at `zero_ns`.
    pub fn since(zero_ns: u64) -> Self {
        let (now, now_ns) = now_twice();
        Self { zero: now - Duration::from_nanos(now_ns.saturating_sub(zero_ns)) }
    }

    /// Zero of this clock on CLOCK_MONOTONIC, for [`Self::since`] in another process. A simulated world has no other process:
    /// there it is 0.
    pub fn zero_ns(&self) -> u64 {
        if is_simulated() {
            return 0;
        }
        let (now, now_ns) = now_twice();
        now_ns.saturating_sub(self.at(now))
    }

    #[inline]
    pub fn now(&self) -> u64 {
        self.at(now())
    }

    #[inline]
    pub fn at(&self, instant: Instant) -> u64 {
        instant.duration_since(self.zero).as_nanos() as u64
    }

    pub fn instant(&self, ns: u64) -> Instant {
        self.zero + Duration::from_nanos(ns)
    }
}

/// The current time. A build without the feature `sim` reads the kernel's clock and looks at nothing else: no load thread has
/// another one.
#[inline]
pub fn now() -> Instant {
    #[cfg(feature = "sim")]
    return brunt_runtime::time::now();
    #[cfg(not(feature = "sim"))]
    Instant::now()
}

/// Whether this thread is in a simulated world.
pub fn is_simulated() -> bool {
    #[cfg(feature = "sim")]
    return brunt_runtime::sim::is_active();
    #[cfg(not(feature = "sim"))]
    false
}

/// The current time as an [`Instant`] and in nanoseconds of CLOCK_MONOTONIC, which an `Instant` does not reveal. Reads both
/// several times and takes the attempt that was interrupted least, which is exact to tens of nanoseconds.
fn now_twice() -> (Instant, u64) {
    let attempt = || {
        let before = nanos(clock_gettime(ClockId::Monotonic));
        let now = now();
        let took = nanos(clock_gettime(ClockId::Monotonic)) - before;
        (took, now, before + took / 2)
    };
    let best = iter::repeat_with(attempt).take(16).min_by_key(|(took, ..)| *took).expect("there were attempts");
    (best.1, best.2)
}

/// CPU time of the calling thread, in nanoseconds; 0 in a simulated world, where it says nothing.
pub fn thread_cpu_ns() -> u64 {
    if is_simulated() { 0 } else { nanos(clock_gettime(ClockId::ThreadCPUTime)) }
}

fn nanos(time: Timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
