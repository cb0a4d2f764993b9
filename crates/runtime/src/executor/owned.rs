//! The owner of a worker.

use super::Worker;
use std::{ops::Deref, rc::Rc};

/// A worker of this thread, which shuts down when this is dropped: not when the worker is, for user code in destructors still
/// refers to it.
#[derive(Debug)]
pub(crate) struct Owned(Rc<Worker>);

impl Owned {
    pub fn new(worker: Worker) -> Self {
        let worker = Rc::new(worker);
        // SAFETY: shutting the worker down, which `drop` does, unregisters it.
        unsafe { super::register(Rc::as_ptr(&worker)) };
        Self(worker)
    }
}

impl Deref for Owned {
    type Target = Worker;
    fn deref(&self) -> &Worker {
        &self.0
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.0.shut_down();
    }
}
