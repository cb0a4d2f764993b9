//! Turns of tests that measure time.

use std::sync::{Mutex, MutexGuard};

/// Held by a test while it measures: on two cores, two such tests disturb each other.
///
/// It holds back the tests of its own binary that ask for it too. Cargo runs one binary at a time.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}
