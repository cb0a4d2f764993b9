//! The CPU clock of another process, in nanoseconds.
//!
//! `/proc/PID/stat` counts in ticks of 10 ms; this clock does not, and it includes the threads that have ended. It must
//! never be used for a thread: the kernel gives thread clocks only to their own process.

use std::time::Duration;

/// CPU time, user and system, that the process and all its threads, living and ended, have used.
///
/// A thread that runs at this moment is accounted up to its last scheduler tick (1 to 10 ms ago).
/// Absent when the process is gone.
pub(crate) fn process_cpu(pid: u32) -> Option<Duration> {
    // The kernel's PID_MAX_LIMIT; the clock id has no room for larger numbers and would name somebody else's clock.
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| (1..=1 << 22).contains(pid))?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: the pointer is to a live local that the call only writes.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live local that the call only writes; a clock of a dead process is an error, not UB.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_own_clock_advances_by_what_we_burn_and_a_stranger_has_none() {
        let burnt = || process_cpu(std::process::id()).unwrap();
        let (before, begin) = (burnt(), std::time::Instant::now());
        // Beside others, our share of the processor may be small.
        while burnt() - before < Duration::from_millis(20) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", burnt() - before);
        }
        assert_eq!(process_cpu(u32::MAX), None);
        assert_eq!(process_cpu(1 << 30), None);
    }
}
