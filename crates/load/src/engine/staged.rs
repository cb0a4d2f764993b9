//! Connections that open and close during the load, for [`Options::connection_stages`](crate::Options).
//!
//! A connection whose place is gone closes once its request is answered, and its task ends. One whose place comes back
//! before that goes on. Opening takes time of no request.

use super::connect;
use super::worker::{Protocol, Worker};
use crate::schedule::{Change, changes};
use brunt_runtime::time;
use std::rc::Rc;

/// Opens and closes connections at their times, until the window that begins at `open_ns` is over.
pub async fn run<P: Protocol>(worker: Rc<Worker<P>>, open_ns: u64) {
    for Change { at, count } in changes(&worker.shared.options.connection_stages, worker.share) {
        time::sleep_until(worker.clock.instant(open_ns + at.as_nanos() as u64)).await;
        if worker.shared.is_closed() {
            return;
        }
        set(&worker, count);
    }
}

/// Connections below `count` have a place in the load from now on.
fn set<P: Protocol>(worker: &Rc<Worker<P>>, count: usize) {
    let Some(staged) = &worker.staged else { return };
    let before = std::mem::replace(&mut worker.core.borrow_mut().scheduler.places, count as u32);
    let mut waiting = staged.waiting.borrow_mut();
    for index in before..count as u32 {
        if !std::mem::replace(&mut staged.has_task.borrow_mut()[index as usize], true) {
            waiting.push_back(index);
        }
    }
    let missing = connect::concurrent(worker).saturating_sub(staged.attempts.get()).min(waiting.len());
    for _ in 0..missing {
        staged.attempts.set(staged.attempts.get() + 1);
        brunt_runtime::spawn(open_waiting(Rc::clone(worker)));
    }
}

async fn open_waiting<P: Protocol>(worker: Rc<Worker<P>>) {
    let Some(staged) = &worker.staged else { return };
    loop {
        let next = staged.waiting.borrow_mut().pop_front();
        let Some(index) = next else { break };
        connect::wait(&worker, &staged.pace).await;
        if worker.shared.is_closed() || !worker.has_place(index) {
            staged.left(index);
            continue;
        }
        // A failure is counted, and its task tries again.
        let _ = connect::open_timed(&worker, &staged.pace.pacer, index).await;
    }
    staged.attempts.set(staged.attempts.get() - 1);
}
