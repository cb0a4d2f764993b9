//! A load thread of a session: opens its connections, then makes load on command, in slices that begin and end with no request
//! in flight. Between them it sleeps in the kernel, without a timer.

use super::clock::thread_cpu_ns;
use super::commands::{Command, Commands, Drained};
use super::connect;
use super::dispatch::{self, Margin};
use super::message::Message;
use super::thread::{self, Channels};
use super::worker::{Protocol, Worker};
use std::sync::atomic::Ordering::Relaxed;
use std::{cell::Cell, future::poll_fn, pin::pin, rc::Rc, task::Poll, time::Duration};

/// Intervals that are kept until the end of a slice: taking them earlier would wake the session's thread within the window.
/// Slices of more seconds send them as they end.
const KEPT_INTERVALS: usize = 8;
/// Time beyond two timeouts in which a drain must be over.
pub const DRAIN_MARGIN: Duration = Duration::from_secs(1);

/// Obeys the commands until the session is released.
pub async fn run<P: Protocol>(worker: Worker<P>, commands: &Commands, channels: &Channels) {
    let worker = Rc::new(worker);
    connect::all(&worker).await;
    let mut obeying = pin!(obey(&worker, commands, channels));
    let mut released = pin!(worker.shared.release.cancelled());
    poll_fn(|cx| match released.as_mut().poll(cx) {
        Poll::Ready(()) => Poll::Ready(()),
        Poll::Pending => obeying.as_mut().poll(cx),
    })
    .await
}

async fn obey<P: Protocol>(worker: &Rc<Worker<P>>, commands: &Commands, channels: &Channels) {
    let margin = Rc::new(Cell::new(Margin::default()));
    // Connections that could not be opened for the next slice: errors of that slice.
    let (mut seen, mut refused) = (0, 0);
    loop {
        let answer = match commands.next(&mut seen).await {
            Command::Reopen => {
                refused = connect::reopen(worker).await;
                Message::Reopened
            }
            Command::Load { start, open, seed, rate } => {
                let cpu_ns = thread_cpu_ns();
                let refused = std::mem::take(&mut refused);
                let mut drained = slice(worker, channels, &margin, Begin { start, open, seed, rate, refused }).await;
                drained.cpu_ns = thread_cpu_ns() - cpu_ns;
                Message::Drained(Box::new(drained))
            }
        };
        channels.send(worker.share.thread, answer);
    }
}

/// Times, arrivals and earlier failures of a slice.
struct Begin {
    start: u64,
    open: u64,
    seed: u64,
    rate: Option<f64>,
    refused: u32,
}

/// Makes the load of one slice. Does not wait for `start`, which is as near as waking up takes: a closed loop begins at
/// once, within the lead, and the dispatcher keeps the times of an open one.
async fn slice<P: Protocol>(
    worker: &Rc<Worker<P>>,
    channels: &Channels,
    margin: &Rc<Cell<Margin>>,
    Begin { start, open, seed, rate, refused }: Begin,
) -> Drained {
    // Connections that the target has closed are noticed before they get a request.
    brunt_runtime::yield_now().await;
    let options = &worker.shared.options;
    channels.take_spares(worker);
    {
        let scheduler = &mut worker.core.borrow_mut().scheduler;
        scheduler.order.restart(seed, worker.share);
        scheduler.begin_again(start, open, options.schedule(rate, seed, worker.share));
    }
    (0..refused).for_each(|_| worker.not_opened());
    let dispatch = || brunt_runtime::spawn(dispatch::run(Rc::clone(worker), Rc::clone(margin)));
    let dispatcher = rate.map(|_| dispatch());
    thread::until_drain(worker, || {
        if worker.core.borrow().scheduler.recorder.finished.len() >= KEPT_INTERVALS {
            channels.ship(worker);
        }
    })
    .await;
    // It may sleep until the next request is due, or wait for capacity: into the next slice.
    dispatcher.inspect(|dispatcher| dispatcher.abort());
    let close = worker.shared.close.load(Relaxed);
    worker.core.borrow_mut().scheduler.take_back(close);
    let longest = 2 * options.timeout + DRAIN_MARGIN;
    thread::drain(worker, close + longest.as_nanos() as u64).await;
    // Connections that were given up are counted before the next slice.
    brunt_runtime::yield_now().await;
    let drained = {
        let scheduler = &mut worker.core.borrow_mut().scheduler;
        scheduler.recorder.finish(worker.clock.now(), std::iter::empty(), 0);
        Drained {
            schedule: scheduler.schedule().cloned(),
            cpu_ns: 0,
            last_ns: scheduler.recorder.drained_ns,
            unsent: scheduler.recorder.unsent,
            outstanding: scheduler.recorder.outstanding,
        }
    };
    channels.ship(worker);
    drained
}
