//! Opens connections: all of them before the load, later the lost ones.

use super::connect_pacer::ConnectPacer;
use super::worker::{Protocol, Worker};
use brunt_runtime::time;
use std::{cell::RefCell, io, rc::Rc, time::Duration};

/// Concurrent attempts of one thread: enough for a thousand connections per second at a round trip of 100 ms, too few to
/// overflow a listener's queue.
const CONCURRENT: usize = 128;
/// Concurrent attempts of all threads; each has at least one.
const CONCURRENT_TOTAL: usize = 1024;
/// First pause before a lost connection is opened again; doubles with each failure in a row.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// Longest pause: a dead target costs little CPU time, and a restarted one is soon found.
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// Starts opening all connections of this thread. Each becomes a task.
pub fn all<P: Protocol>(worker: &Rc<Worker<P>>) {
    worker.shared.connecting.begin(worker.clock.now());
    let concurrent = (CONCURRENT_TOTAL / worker.share.threads).clamp(1, CONCURRENT);
    let pacer = Rc::new(RefCell::new(ConnectPacer::default()));
    for _ in 0..concurrent.min(worker.share.own()) {
        let (worker, pacer) = (Rc::clone(worker), Rc::clone(&pacer));
        brunt_runtime::spawn(async move {
            while let Some(index) = next(&worker) {
                open_first(&worker, &pacer, index).await;
            }
        });
    }
}

fn next<P>(worker: &Worker<P>) -> Option<usize> {
    let index = worker.begun.get();
    let more = index < worker.share.own() && !worker.shared.is_closed();
    more.then(|| {
        worker.begun.set(index + 1);
        index
    })
}

async fn open_first<P: Protocol>(worker: &Rc<Worker<P>>, pacer: &RefCell<ConnectPacer>, index: usize) {
    let clock = worker.clock;
    let due = match worker.shared.options.connect_rate {
        Some(rate) => Some((worker.share.global(index) as f64 / rate * 1e9) as u64),
        None => pacer.borrow_mut().due(clock.now()),
    };
    if let Some(due) = due {
        time::sleep_until(clock.instant(due)).await;
    }
    let began_ns = clock.now();
    let (link, error) = match open(worker, index as u32).await {
        Ok(link) => (Some(link), None),
        Err(error) => (None, Some(error)),
    };
    let now_ns = clock.now();
    pacer.borrow_mut().ended(now_ns, now_ns - began_ns);
    brunt_runtime::spawn(P::keep_open(Rc::clone(worker), index as u32, link));
    worker.shared.connecting.settle(now_ns, worker.host(index as u32), error);
}

/// Opens a lost connection again; retries until the window is over (`None`).
pub async fn again<P: Protocol>(worker: &Worker<P>, index: u32, failures: &mut u32) -> Option<P::Link> {
    while pause(worker, failures).await {
        if let Ok(link) = open(worker, index).await {
            return Some(link);
        }
    }
    None
}

/// Pauses after another failure; `failures` counts those in a row. Returns false when the window is over.
pub async fn pause<P>(worker: &Worker<P>, failures: &mut u32) -> bool {
    let pause = FIRST_PAUSE * (1 << (*failures).min(16));
    *failures += 1;
    time::sleep(pause.min(LAST_PAUSE)).await;
    !worker.shared.is_closed()
}

async fn open<P: Protocol>(worker: &Worker<P>, index: u32) -> io::Result<P::Link> {
    let limit = worker.shared.options.timeout;
    let opened = time::timeout(limit, dial(worker, index)).await;
    let opened = opened.unwrap_or_else(|time::Elapsed| Err(io::ErrorKind::TimedOut.into()));
    opened.inspect_err(|_| worker.not_opened())
}

/// Makes one attempt to open connection `index` of this thread, without a timeout. The caller counts an error.
pub async fn dial<P: Protocol>(worker: &Worker<P>, index: u32) -> io::Result<P::Link> {
    let link = P::open(worker, index).await?;
    worker.opened(index);
    Ok(link)
}
