//! A worker of a world beside that of `block_on`.

use crate::executor::{self, Worker, worker::Rest};
use crate::{Runtime, time};
use std::cell::{Cell, RefCell};
use std::{future::Future, pin::Pin, time::Duration};

/// A worker that runs beside the future of `block_on`.
pub(super) struct Root {
    /// Dropped before its runtime.
    pub future: RefCell<Pin<Box<dyn Future<Output = ()>>>>,
    pub done: Cell<bool>,
    pub rest: Cell<Option<Rest>>,
    pub runtime: Runtime,
}

impl Root {
    pub fn new(runtime: Runtime, future: impl Future<Output = ()> + 'static) -> Self {
        Self { future: RefCell::new(Box::pin(future)), done: Cell::new(false), rest: Cell::new(None), runtime }
    }
}

/// Ends the tasks of this worker and waits until its connections are closed, in virtual time: as dropping its runtime does, which
/// lets no other worker run.
pub(crate) async fn end_worker() {
    executor::current(Worker::end_tasks);
    let mut pause = Duration::from_micros(1);
    while crate::metrics().connections > 0 {
        time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(10));
    }
}
