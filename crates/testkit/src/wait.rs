//! Waiting for a state.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// A test that waits for longer counts as hung, even on a machine that does other work.
pub const LIMIT: Duration = Duration::from_secs(120);

/// Waits until `is_so`; panics with `what` after [`LIMIT`].
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    until_some(what, || is_so().then_some(()));
}

/// Waits until `look` finds something; panics with `what` after [`LIMIT`].
#[track_caller]
pub fn until_some<T>(what: &str, mut look: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(begin.elapsed() < LIMIT, "never within {} s: {what}", LIMIT.as_secs());
        sleep(Duration::from_millis(2));
    }
}
