//! The clock of this crate: no other file of it reads the time or sleeps (`clippy.toml`), so that a test can give the time to
//! all that runs on its thread.

#[cfg(any(test, feature = "sim"))]
pub mod given;

use brunt_meter::poll::poll_on;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[allow(clippy::disallowed_methods, reason = "the place that has the time")]
pub fn now() -> Instant {
    #[cfg(any(test, feature = "sim"))]
    if let Some(now) = given::now() {
        return now;
    }
    Instant::now()
}

/// Time since a moment; zero before it.
pub fn since(at: Instant) -> Duration {
    now().saturating_duration_since(at)
}

/// The time of day; a given time begins in 1970.
#[allow(clippy::disallowed_methods, reason = "the place that has the time")]
pub(crate) fn system_now() -> SystemTime {
    #[cfg(any(test, feature = "sim"))]
    if let Some(time) = given::time() {
        return UNIX_EPOCH + time;
    }
    SystemTime::now()
}

/// The time of day in whole seconds since 1970.
pub(crate) fn unix_s() -> u64 {
    system_now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

#[allow(clippy::disallowed_methods, reason = "the place that has the time")]
pub(crate) fn sleep(time: Duration) {
    #[cfg(any(test, feature = "sim"))]
    if given::sleep(time) {
        return;
    }
    std::thread::sleep(time);
}

/// Calls `check` until it returns a value or `timeout` has passed, sleeping for `pause()` between calls.
#[allow(clippy::disallowed_methods, reason = "the place that has the time")]
pub(crate) fn poll<T>(
    timeout: Duration,
    pause: impl FnMut() -> Duration,
    check: impl FnMut() -> Option<T>,
) -> Option<T> {
    poll_on(now, sleep, timeout, pause, check)
}
