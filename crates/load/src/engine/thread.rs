//! One load thread from start to end: its runtime, its worker, and the task that keeps its phases.

use super::worker::{Protocol, Worker};
use super::{connect, dispatch};
use crate::error::LoadError;
use crate::measure::interval::Interval;
use crate::schedule::{Schedule, Share};
use brunt_runtime::{BackendKind, Runtime, time};
use serde::{Deserialize, Serialize};
use std::sync::mpsc::{Receiver, Sender};
use std::{io, rc::Rc, sync::atomic::Ordering::Relaxed, time::Duration};

/// Longest pause between two checks of clock and timeouts.
const MAX_TICK: Duration = Duration::from_millis(10);
const MIN_TICK: Duration = Duration::from_millis(1);
/// Longest wait for replies in the drain; the timeout, if that is shorter.
const DRAIN: Duration = Duration::from_secs(1);
const DRAIN_TICK: Duration = Duration::from_millis(1);

/// From a load thread to the thread that called `run`, which may be in another process.
#[derive(Serialize, Deserialize)]
pub enum Message {
    Ready {
        tid: u32,
        #[serde(with = "Backend")]
        backend: BackendKind,
        /// Why the backend is not io_uring.
        fallback: Option<String>,
    },
    Interval(Box<Interval>),
    #[serde(skip)]
    Failed(LoadError),
    /// The process of this number, instead of a thread's, has exited early.
    #[serde(skip)]
    Exited,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "BackendKind")]
enum Backend {
    Uring,
    Epoll,
}

pub struct Channels {
    /// To the coordinator, with the thread's number.
    pub out: Sender<(usize, Message)>,
    /// Returns emptied intervals.
    pub spare: Receiver<Box<Interval>>,
}

/// Pins this thread, starts its runtime and runs `work`. Returns the thread's schedule as far as it was taken.
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
        // The receiver is dropped only if the run has failed elsewhere.
        let _ = self.out.send((thread, message));
    }

    fn ship<P>(&self, worker: &Worker<P>) {
        let recorder = &mut worker.core.borrow_mut().scheduler.recorder;
        while let Some(interval) = recorder.finished.pop_front() {
            self.send(worker.share.thread, Message::Interval(interval));
        }
        while let Ok(spare) = self.spare.try_recv() {
            recorder.spare.push(spare);
        }
    }
}

/// Opens the connections, sends requests until the end of the window, drains, and keeps the connections until released.
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
    let tick = (shared.options.timeout / 16).clamp(MIN_TICK, MAX_TICK).as_nanos() as u64;
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
    while worker.core.borrow().scheduler.recorder.outstanding > 0 && clock.now() < end {
        time::sleep(DRAIN_TICK).await;
        worker.core.borrow_mut().scheduler.sweep(clock.now(), tick);
    }
    let schedule = worker.core.borrow_mut().scheduler.finish(clock.now());
    channels.ship(worker);
    // The target must keep its connections until it has been metered.
    shared.release.cancelled().await;
    schedule
}
