//! A worker of a world beside that of `block_on`.

use crate::Runtime;
use crate::executor::worker::Rest;
use std::cell::{Cell, RefCell};
use std::{future::Future, pin::Pin};

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
