//! For loom tests: what a thread sleeps on, such as an eventfd. Loom reports a lost wake-up as a deadlock.

use loom::sync::{Condvar, Mutex};

pub(crate) struct Parker {
    woken: Mutex<bool>,
    condvar: Condvar,
}

impl Parker {
    pub fn new() -> Self {
        Self { woken: Mutex::new(false), condvar: Condvar::new() }
    }

    pub fn unpark(&self) {
        *self.woken.lock().unwrap() = true;
        self.condvar.notify_one();
    }

    pub fn park(&self) {
        let mut woken = self.woken.lock().unwrap();
        while !*woken {
            woken = self.condvar.wait(woken).unwrap();
        }
        *woken = false;
    }
}

/// Tries all interleavings with at most three preemptions; without that bound some tests would take hours.
pub(crate) fn check(model: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(3);
    builder.check(model);
}
