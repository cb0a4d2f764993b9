//! The CPU clock of another process, in nanoseconds.
//!
//! Unlike `/proc/PID/stat`, which counts ticks of 10 ms, it has full resolution; it includes ended threads. Thread ids have no
//! such clock outside their own process.

use std::time::Duration;

/// CPU time, user and system, of a process with all its threads, living and ended; `None` if the process is gone.
///
/// A running thread is accounted up to its last scheduler tick, 1 to 10 ms ago.
pub(crate) fn process_cpu(pid: u32) -> Option<Duration> {
    // PID_MAX_LIMIT of the kernel: the clock id cannot hold a larger pid and would name another process.
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| (1..=1 << 22).contains(pid))?;
    let mut clock: libc::clockid_t = 0;
    // SAFETY: `clock` is a live local, valid for writes; the call retains no pointer.
    if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
        return None;
    }
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a live local, valid for writes; the clock of a process that has ended yields an error.
    if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
        return None;
    }
    Some(Duration::new(u64::try_from(time.tv_sec).ok()?, u32::try_from(time.tv_nsec).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_advances_with_use_and_invalid_pids_have_none() {
        let burnt = || process_cpu(std::process::id()).unwrap();
        let (before, begin) = (burnt(), std::time::Instant::now());
        // On a busy machine, the share of this thread may be small.
        while burnt() - before < Duration::from_millis(20) {
            assert!(begin.elapsed() < Duration::from_secs(60), "{:?}", burnt() - before);
        }
        assert_eq!(process_cpu(u32::MAX), None);
        assert_eq!(process_cpu(1 << 30), None);
    }
}
