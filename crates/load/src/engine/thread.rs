//! One load thread from start to end: its runtime, its worker, and the task that keeps its phases.

use super::worker::{Protocol, Worker};
use super::{connect, dispatch, inbox::Outbox, message::Message, staged};
use crate::error::LoadError;
use crate::measure::interval::Interval;
use crate::options::{Backend, backend_of, kind_of};
use crate::schedule::{Schedule, Share};
use brunt_runtime::{Runtime, time};
use std::future::poll_fn;
use std::sync::mpsc::Receiver;
use std::{io, rc::Rc, sync::atomic::Ordering::Relaxed, task::Poll, time::Duration};

/// Longest pause between two checks of clock and timeouts.
const MAX_TICK: Duration = Duration::from_millis(10);
const MIN_TICK: Duration = Duration::from_millis(1);
/// Longest wait for replies in the drain; the timeout, if that is shorter.
const DRAIN: Duration = Duration::from_secs(1);

pub struct Channels {
    /// To the coordinator.
    pub out: Outbox,
    /// Returns emptied intervals.
    pub spare: Receiver<Box<Interval>>,
}

/// Pins this thread, starts its runtime and runs `work`. Returns the thread's schedule as far as it was taken.
pub fn run(
    share: Share,
    core: Option<usize>,
    backend: Option<Backend>,
    channels: &Channels,
    work: impl AsyncFnOnce() -> Option<Schedule>,
) -> Option<Schedule> {
    let runtime = match set_up(core, backend) {
        Ok(runtime) => runtime,
        Err(error) => {
            let thread = share.thread;
            channels.send(thread, Message::Failed(LoadError::Thread { thread, core, error }));
            return None;
        }
    };
    let ready = Message::Ready {
        tid: rustix::thread::gettid().as_raw_nonzero().get() as u32,
        backend: backend_of(runtime.backend()),
        fallback: runtime.fallback_reason().map(str::to_owned),
    };
    channels.send(share.thread, ready);
    runtime.block_on(work())
}

/// The runtime of a load thread, which is pinned.
pub fn set_up(core: Option<usize>, backend: Option<Backend>) -> io::Result<Runtime> {
    if let Some(core) = core {
        brunt_runtime::group::pin_to_core(core)?;
    }
    Runtime::builder().env_prefix("BRUNT").backend(backend.map(kind_of)).build()
}

impl Channels {
    pub fn send(&self, thread: usize, message: Message) {
        self.out.send(thread, message);
    }

    /// Sends the intervals that have ended, and takes empty ones.
    pub fn ship<P>(&self, worker: &Worker<P>) {
        let mut core = worker.core.borrow_mut();
        while let Some(interval) = core.scheduler.recorder.finished.pop_front() {
            self.send(worker.share.thread, Message::Interval(interval));
        }
        drop(core);
        self.take_spares(worker);
    }

    /// Sends the counts of an interval that is over.
    fn count<P>(&self, worker: &Worker<P>) {
        let mut core = worker.core.borrow_mut();
        if core.scheduler.recorder.counter.is_some()
            && let Some(part) = core.scheduler.count(worker.clock.now(), worker.shared.close.load(Relaxed))
        {
            self.send(worker.share.thread, Message::Counts(Box::new(part)));
        }
    }

    pub fn take_spares<P>(&self, worker: &Worker<P>) {
        let recorder = &mut worker.core.borrow_mut().scheduler.recorder;
        while let Ok(spare) = self.spare.try_recv() {
            recorder.spare.push(spare);
        }
    }
}

/// Opens the connections, sends requests until the end of the window, drains, and keeps the connections until released.
pub async fn run_phases<P: Protocol>(worker: Worker<P>, channels: &Channels) -> Option<Schedule> {
    let worker = &Rc::new(worker);
    let (shared, clock) = (&worker.shared, worker.clock);
    connect::all(worker).await;
    shared.go.cancelled().await;
    if shared.release.is_cancelled() {
        return None;
    }
    let (start, open) = (shared.start.load(Relaxed), shared.open.load(Relaxed));
    worker.core.borrow_mut().scheduler.recorder.begin(start, open);
    time::sleep_until(clock.instant(start)).await;
    shared.began.fetch_min(clock.now(), Relaxed);
    worker.core.borrow_mut().scheduler.begin(start);
    if shared.options.rate.is_some() {
        brunt_runtime::spawn(dispatch::run(Rc::clone(worker), Rc::default()));
    }
    if worker.staged.is_some() {
        brunt_runtime::spawn(staged::run(Rc::clone(worker), open));
    }
    until_drain(worker, || {
        channels.ship(worker);
        channels.count(worker);
    })
    .await;
    let end = shared.close.load(Relaxed) + shared.options.timeout.min(DRAIN).as_nanos() as u64;
    drain(worker, end).await;
    let schedule = worker.core.borrow_mut().scheduler.finish(clock.now());
    channels.ship(worker);
    let close = shared.close.load(Relaxed);
    let rest = worker.core.borrow_mut().scheduler.count_rest(clock.now(), close, schedule.as_ref());
    rest.into_iter().for_each(|part| channels.send(worker.share.thread, Message::Counts(Box::new(part))));
    let served = worker.core.borrow().scheduler.served();
    channels.send(worker.share.thread, Message::Served(served));
    let parts = worker.core.borrow_mut().scheduler.recorder.breakdown.take();
    channels.send(worker.share.thread, Message::Parts(parts));
    channels.send(worker.share.thread, Message::FirstFailures(shared.first_failures.told()));
    // The target must keep its connections until it has been metered.
    shared.release.cancelled().await;
    schedule
}

/// Ends intervals and times out requests until the window is over; calls `each` in every round.
pub async fn until_drain<P>(worker: &Worker<P>, each: impl Fn()) {
    let tick = tick(worker);
    loop {
        let now = worker.clock.now();
        let wake = {
            let scheduler = &mut worker.core.borrow_mut().scheduler;
            scheduler.recorder.advance(now);
            scheduler.sweep(now, tick);
            scheduler.recorder.boundary().min(now + tick)
        };
        each();
        if worker.core.borrow().scheduler.recorder.is_draining() {
            return;
        }
        time::sleep_until(worker.clock.instant(wake)).await;
    }
}

/// Waits until no request is in flight, at most until `end`.
pub async fn drain<P>(worker: &Worker<P>, end: u64) {
    let tick = tick(worker);
    loop {
        let now = worker.clock.now();
        let is_over = {
            let scheduler = &mut worker.core.borrow_mut().scheduler;
            scheduler.sweep(now, tick);
            scheduler.recorder.outstanding == 0
        };
        if is_over || now >= end || worker.shared.is_broken() {
            return;
        }
        // Ends early with the last reply.
        let _ = time::timeout(Duration::from_nanos(tick.min(end - now)), last_reply(worker)).await;
    }
}

async fn last_reply<P>(worker: &Worker<P>) {
    poll_fn(|cx| {
        let recorder = &mut worker.core.borrow_mut().scheduler.recorder;
        if recorder.outstanding == 0 {
            return Poll::Ready(());
        }
        recorder.drain_waker = Some(cx.waker().clone());
        Poll::Pending
    })
    .await
}

/// Interval of the checks of clock and timeouts, in nanoseconds.
fn tick<P>(worker: &Worker<P>) -> u64 {
    (worker.shared.options.timeout / 16).clamp(MIN_TICK, MAX_TICK).as_nanos() as u64
}
