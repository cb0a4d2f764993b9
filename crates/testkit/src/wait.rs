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
    within_limit(&mut look).unwrap_or_else(|| panic!("never within {} s: {what}", LIMIT.as_secs()))
}

/// Waits until `look` finds something; `None` after [`LIMIT`].
pub(crate) fn within_limit<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let begin = Instant::now();
    loop {
        let found = look();
        if found.is_some() || begin.elapsed() >= LIMIT {
            return found;
        }
        sleep(Duration::from_millis(2));
    }
}
