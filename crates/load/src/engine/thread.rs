//! One load thread from its start to its end: a runtime, a worker, and the task that keeps its phases.

use super::{connect, dispatch, protocol::Protocol, worker::Worker};
use crate::{
    error::LoadError,
    measure::interval::Interval,
    schedule::{Schedule, Share},
};
use brunt_runtime::{BackendKind, Runtime, time};
use std::{
    io,
    rc::Rc,
    sync::{
        atomic::Ordering::Relaxed,
        mpsc::{Receiver, Sender},
    },
    time::Duration,
};

/// Longest pause between two looks at the clock and at timeouts.
const TICK: Duration = Duration::from_millis(10);
/// Shortest one.
const SHORTEST_TICK: Duration = Duration::from_millis(1);
/// The drain waits for replies this long at most, or for the timeout if that is shorter.
const DRAIN: Duration = Duration::from_secs(1);
/// Pause between two looks at whether the drain is over.
const DRAIN_TICK: Duration = Duration::from_millis(1);

/// What a load thread tells the thread that called `run`.
pub enum Message {
    /// It runs.
    Ready {
        /// Kernel thread id.
        tid: u32,
        /// How it talks to the kernel.
        backend: BackendKind,
        /// Why not in the better way, if so.
        fallback: Option<String>,
    },
    /// An interval is over.
    Interval(Box<Interval>),
    /// It could not start.
    Failed(LoadError),
    /// The process with this number, in the place of the thread's, is gone before its time.
    Gone,
}

/// The channels of a load thread.
pub struct Channels {
    /// To the collector, with the thread's number.
    pub out: Sender<(usize, Message)>,
    /// Emptied intervals coming back.
    pub spare: Receiver<Box<Interval>>,
}

/// The body of a load thread: pins it, starts its runtime there and runs `work`. Returns the thread's schedule as far as
/// it was taken.
pub fn run(
    share: Share,
    core: Option<usize>,
    channels: &Channels,
    work: impl AsyncFnOnce() -> Option<Schedule>,
) -> Option<Schedule> {
    let runtime = match set_up(core) {
        Ok(runtime) => runtime,
        Err(error) => {
            let thread = share.thread;
            channels.send(thread, Message::Failed(LoadError::Thread { thread, core, error }));
            return None;
        }
    };
    let ready = Message::Ready {
        tid: rustix::thread::gettid().as_raw_nonzero().get() as u32,
        backend: runtime.backend(),
        fallback: runtime.fallback_reason().map(str::to_owned),
    };
    channels.send(share.thread, ready);
    runtime.block_on(work())
}

fn set_up(core: Option<usize>) -> io::Result<Runtime> {
    if let Some(core) = core {
        brunt_runtime::group::pin_to_core(core)?;
    }
    Runtime::builder().env_prefix("BRUNT").build()
}

impl Channels {
    pub fn send(&self, thread: usize, message: Message) {
        // The receiver is gone only if the run has failed elsewhere.
        let _ = self.out.send((thread, message));
    }

    fn ship<P>(&self, worker: &Worker<P>) {
        let recorder = &mut worker.core.borrow_mut().scheduler.recorder;
        while let Some(interval) = recorder.take_finished() {
            self.send(worker.share.thread, Message::Interval(interval));
        }
        while let Ok(spare) = self.spare.try_recv() {
            recorder.give_back(spare);
        }
    }
}

/// Connects, makes the load until the window closes, drains, and keeps the connections until they are released.
pub async fn run_phases<P: Protocol>(worker: Worker<P>, channels: &Channels) -> Option<Schedule> {
    let worker = &Rc::new(worker);
    let (shared, clock) = (&worker.shared, worker.clock);
    connect::all(worker);
    shared.go.cancelled().await;
    if shared.release.is_cancelled() {
        return None;
    }
    let (start, open) = (shared.start.load(Relaxed), shared.open.load(Relaxed));
    worker.core.borrow_mut().scheduler.recorder.begin(start, open);
    time::sleep_until(clock.instant(start)).await;
    worker.core.borrow_mut().scheduler.begin(start);
    if shared.options.rate.is_some() {
        brunt_runtime::spawn(dispatch::run(Rc::clone(worker)));
    }
    let tick = (shared.options.timeout / 16).clamp(SHORTEST_TICK, TICK).as_nanos() as u64;
    loop {
        let now = clock.now();
        let wake = {
            let scheduler = &mut worker.core.borrow_mut().scheduler;
            scheduler.recorder.advance(now);
            scheduler.sweep(now, tick);
            scheduler.recorder.boundary().min(now + tick)
        };
        channels.ship(worker);
        if worker.core.borrow().scheduler.recorder.is_draining() {
            break;
        }
        time::sleep_until(clock.instant(wake)).await;
    }
    let end = shared.close.load(Relaxed) + shared.options.timeout.min(DRAIN).as_nanos() as u64;
    while worker.core.borrow().scheduler.recorder.outstanding() > 0 && clock.now() < end {
        time::sleep(DRAIN_TICK).await;
        worker.core.borrow_mut().scheduler.sweep(clock.now(), tick);
    }
    let schedule = worker.core.borrow_mut().scheduler.finish(clock.now());
    channels.ship(worker);
    // The target must keep its connections until it has been metered.
    shared.release.cancelled().await;
    schedule
}
