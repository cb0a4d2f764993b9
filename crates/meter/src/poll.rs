//! Waiting by polling.

use std::thread;
use std::time::{Duration, Instant};

/// Calls `check` until it returns a value or `timeout` has passed, sleeping for `pause()` between calls.
pub fn poll<T>(timeout: Duration, pause: impl FnMut() -> Duration, check: impl FnMut() -> Option<T>) -> Option<T> {
    poll_on(Instant::now, thread::sleep, timeout, pause, check)
}

/// The same on another clock.
pub fn poll_on<T>(
    now: impl Fn() -> Instant,
    sleep: impl Fn(Duration),
    timeout: Duration,
    mut pause: impl FnMut() -> Duration,
    mut check: impl FnMut() -> Option<T>,
) -> Option<T> {
    let begun = now();
    loop {
        if let Some(value) = check() {
            return Some(value);
        }
        if now().saturating_duration_since(begun) >= timeout {
            return None;
        }
        sleep(pause());
    }
}

pub fn every(ms: u64) -> impl FnMut() -> Duration {
    move || Duration::from_millis(ms)
}

/// Pauses from 1 ms, each twice as long as the one before, up to `longest_ms`.
pub fn backoff(longest_ms: u64) -> impl FnMut() -> Duration {
    let mut next = 1;
    move || {
        let pause = Duration::from_millis(next);
        next = (next * 2).min(longest_ms);
        pause
    }
}
