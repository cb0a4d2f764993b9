//! CPU time of the calling thread and of the whole run.

use rustix::time::{ClockId, clock_gettime};
use std::{fs, time::Duration};

/// CPU time of the calling thread.
pub(crate) fn of_thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    Duration::new(time.tv_sec.max(0) as u64, time.tv_nsec as u32)
}

/// CPU seconds of this process and of the children that it has waited for, whose time has a resolution of one clock tick.
pub(crate) fn of_run() -> Option<f64> {
    let stat = fs::read_to_string("/proc/self/stat").ok()?;
    let ticks = children(&stat)?;
    Some(read(ClockId::ProcessCPUTime).as_secs_f64() + ticks as f64 / rustix::param::clock_ticks_per_second() as f64)
}

/// Fields `cutime` and `cstime` of `/proc/PID/stat`, the 16th and 17th. The second field, in brackets, may contain blanks.
fn children(stat: &str) -> Option<u64> {
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(13);
    let mut next = || fields.next()?.parse::<u64>().ok();
    Some(next()? + next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_children_follow_a_name_with_blanks() {
        let stat = "7 (a) b (c) R 1 7 7 0 -1 4194304 90 0 0 0 11 12 130 4 20 0 1 0 5 6 7";
        assert_eq!(children(stat), Some(134));
        assert_eq!(children("7 (a) R 1"), None);
        assert!(of_run().unwrap() >= of_thread().as_secs_f64());
    }
}
