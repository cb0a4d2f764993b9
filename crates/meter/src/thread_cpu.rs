//! CPU time of the calling thread.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

pub(crate) fn thread_cpu() -> Duration {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}
