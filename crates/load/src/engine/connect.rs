//! Opens connections: all of them before the load, later the lost ones.

use super::connect_pacer::{ConnectPacer, Pace};
use super::first_failures;
use super::worker::{Protocol, Worker};
use brunt_results::ConnectCause;
use brunt_runtime::time;
use std::{cell::Cell, cell::RefCell, io, rc::Rc, time::Duration};

/// Concurrent attempts of one thread: enough for a thousand connections per second at a round trip of 100 ms, too few to
/// overflow a listener's queue.
const CONCURRENT: usize = 128;
/// Concurrent attempts of all threads; each has at least one.
const CONCURRENT_TOTAL: usize = 1024;
/// First pause before a lost connection is opened again; doubles with each failure in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Longest pause: a dead target costs little CPU time, and a restarted one is soon found.
const LAST_PAUSE: Duration = Duration::from_millis(500);
/// The same in a session: a slice must show that its target is dead, and a pause may reach into the next one.
const LAST_PAUSE_OF_SESSION: Duration = Duration::from_millis(20);

/// Starts opening all connections of this thread when it may. Each becomes a task.
pub async fn all<P: Protocol>(worker: &Rc<Worker<P>>) {
    worker.shared.connect.cancelled().await;
    worker.shared.connecting.begin(worker.clock.now());
    let pacer = Rc::new(RefCell::new(ConnectPacer::default()));
    for _ in 0..concurrent(worker).min(worker.first()) {
        let (worker, pacer) = (Rc::clone(worker), Rc::clone(&pacer));
        brunt_runtime::spawn(async move {
            while let Some(index) = next(&worker) {
                open_first(&worker, &pacer, index).await;
            }
        });
    }
}

/// Attempts of this thread at a time.
pub(super) fn concurrent<P>(worker: &Worker<P>) -> usize {
    (CONCURRENT_TOTAL / worker.share.group).clamp(1, CONCURRENT)
}

fn next<P>(worker: &Worker<P>) -> Option<usize> {
    let index = worker.begun.get();
    let more = index < worker.first() && !worker.shared.is_closed();
    more.then(|| {
        worker.begun.set(index + 1);
        index
    })
}

async fn open_first<P: Protocol>(worker: &Rc<Worker<P>>, pacer: &RefCell<ConnectPacer>, index: usize) {
    let clock = worker.clock;
    let due = match worker.shared.options.connect_rate {
        Some(rate) => Some((worker.number(index) as f64 / rate * 1e9) as u64),
        None => pacer.borrow_mut().due(clock.now()),
    };
    if let Some(due) = due {
        time::sleep_until(clock.instant(due)).await;
    }
    let error = open_timed(worker, pacer, index as u32).await.err();
    worker.shared.connecting.settle(clock.now(), worker.host(index as u32), error);
}

/// Makes one attempt to open connection `index`, which becomes a task in either case.
pub(super) async fn open_timed<P: Protocol>(
    worker: &Rc<Worker<P>>,
    pacer: &RefCell<ConnectPacer>,
    index: u32,
) -> io::Result<()> {
    let began_ns = worker.clock.now();
    let (link, result) = match open(worker, index).await {
        Ok(link) => (Some(link), Ok(())),
        Err(error) => (None, Err(error)),
    };
    let now_ns = worker.clock.now();
    pacer.borrow_mut().ended(now_ns, now_ns - began_ns);
    brunt_runtime::spawn(P::keep_open(Rc::clone(worker), index, link));
    result
}

/// Opens the connections of this thread that were lost since the last window, with one attempt each, and waits for them. Starts
/// no attempt after a timeout's time: the rest stays closed. Returns the number of failed attempts.
pub async fn reopen<P: Protocol>(worker: &Rc<Worker<P>>) -> u32 {
    let until_ns = worker.clock.now() + worker.shared.options.timeout.as_nanos() as u64;
    let (pace, failed) =
        (Rc::new(Pace::new(worker.shared.options.connect_rate, worker.share)), Rc::new(Cell::new(0u32)));
    let attempt = || {
        let (worker, pace, failed) = (Rc::clone(worker), Rc::clone(&pace), Rc::clone(&failed));
        brunt_runtime::spawn(async move {
            while worker.clock.now() < until_ns {
                let Some(index) = worker.take_lost() else { return };
                wait(&worker, &pace).await;
                let result = open_timed(&worker, &pace.pacer, index).await;
                failed.set(failed.get() + u32::from(result.is_err()));
            }
        })
    };
    let lost = worker.lost.borrow().len();
    let attempts: Vec<_> = (0..concurrent(worker).min(lost)).map(|_| attempt()).collect();
    for attempt in attempts {
        // Fails only if it panicked, which the runtime has printed.
        let _ = attempt.await;
    }
    failed.get()
}

/// Waits until the next attempt of `pace` may begin.
pub(super) async fn wait<P>(worker: &Worker<P>, pace: &Pace) {
    if let Some(due) = pace.due(worker.clock.now()) {
        time::sleep_until(worker.clock.instant(due)).await;
    }
}

/// Opens a lost connection again; retries until the window is over or the
/// connection has no place (`None`).
pub async fn again<P: Protocol>(worker: &Worker<P>, index: u32, failures: &mut u32) -> Option<P::Link> {
    while pause(worker, index, failures).await {
        if let Ok(link) = open(worker, index).await {
            return Some(link);
        }
    }
    None
}

/// Pauses after another failure of connection `index`; `failures` counts those in a row. Returns false when the window is over
/// or the connection has no place: its task ends.
pub async fn pause<P>(worker: &Worker<P>, index: u32, failures: &mut u32) -> bool {
    let pause = FIRST_PAUSE * (1 << (*failures).min(16));
    *failures += 1;
    if worker.shared.commands.is_some() && worker.shared.is_closed() {
        worker.give_up(index);
        return false;
    }
    let longest = if worker.shared.commands.is_some() { LAST_PAUSE_OF_SESSION } else { LAST_PAUSE };
    time::sleep(pause.min(longest)).await;
    let goes_on = !worker.shared.is_closed();
    if !goes_on {
        worker.give_up(index);
    } else if !worker.has_place(index) {
        worker.leave(index);
        return false;
    }
    goes_on
}

/// Makes one attempt to open connection `index` of this thread. An error is counted.
pub(super) async fn open<P: Protocol>(worker: &Worker<P>, index: u32) -> io::Result<P::Link> {
    let limit = worker.shared.options.timeout;
    let opened = time::timeout(limit, dial(worker, index)).await;
    let opened = opened.unwrap_or_else(|time::Elapsed| {
        unreachable(worker, index);
        Err(io::ErrorKind::TimedOut.into())
    });
    opened.inspect_err(|error| {
        worker.shared.first_failures.note_connect(error);
        worker.not_opened();
    })
}

/// Makes one attempt to open connection `index` of this thread, without a timeout. The caller counts an error.
pub async fn dial<P: Protocol>(worker: &Worker<P>, index: u32) -> io::Result<P::Link> {
    let link = P::open(worker, index, &mut ()).await.inspect_err(|error| {
        if first_failures::cause(error) != ConnectCause::Exhausted {
            unreachable(worker, index);
        }
    })?;
    worker.opened(index);
    Ok(link)
}

/// The host of connection `index` could not be connected to just now.
pub fn unreachable<P>(worker: &Worker<P>, index: u32) {
    worker.shared.outages.failed(worker.host(index), worker.clock.now());
}
