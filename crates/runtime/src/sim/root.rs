//! The workers of a world beside that of `block_on`, in the order in which they were added.

use crate::executor::{self, Owned, Worker, worker::Rest};
use crate::time;
use std::cell::{Cell, RefCell};
use std::{future::Future, pin::Pin, rc::Rc, time::Duration};

thread_local! {
    /// Those of the active world.
    static ROOTS: RefCell<Vec<Rc<Root>>> = const { RefCell::new(Vec::new()) };
}

/// A worker that runs beside the future of `block_on`.
pub(super) struct Root {
    /// Dropped before its worker.
    pub future: RefCell<Pin<Box<dyn Future<Output = ()>>>>,
    pub rest: Cell<Option<Rest>>,
    pub worker: Owned,
}

pub(super) fn add(worker: Owned, future: impl Future<Output = ()> + 'static) {
    let future: Pin<Box<dyn Future<Output = ()>>> = Box::pin(future);
    let root = Root { future: RefCell::new(future), rest: Cell::new(None), worker };
    ROOTS.with_borrow_mut(|roots| roots.push(Rc::new(root)));
}

/// Adds the roots from that number on.
pub(super) fn copy_from(first: usize, to: &mut Vec<Rc<Root>>) {
    ROOTS.with_borrow(|roots| to.extend_from_slice(&roots[first..]));
}

/// Drops all roots, whose futures and tasks may look for the world.
pub(super) fn end_all() {
    // The thread may be ending.
    drop(ROOTS.try_with(RefCell::take));
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
