//! The clock of this machine.

use rustix::time::{ClockId, clock_gettime};
use std::time::Duration;

/// Nanoseconds of CLOCK_MONOTONIC.
pub fn now() -> i64 {
    let now = clock_gettime(ClockId::Monotonic);
    now.tv_sec * crate::SECOND_NS + now.tv_nsec
}

/// Waits until this time; for ever if there is none.
pub(super) async fn until(due: Option<i64>) {
    match due {
        Some(due) => tokio::time::sleep(Duration::from_nanos(due.saturating_sub(now()).max(0) as u64)).await,
        None => std::future::pending().await,
    }
}
