//! Opening connections: all of them before the load, and later those that were lost.

use super::{connect_pacer::ConnectPacer, protocol::Protocol, worker::Worker};
use brunt_runtime::{net::TcpStream, time};
use std::{cell::RefCell, io, rc::Rc, time::Duration};

/// Attempts under way at a time on one thread. Enough to fill a network of 100 ms at a thousand connections a second,
/// few enough not to flood a listener's queue at once ...
const AT_A_TIME: usize = 128;
/// ... and on all threads together, as far as each has one.
const AT_A_TIME_IN_ALL: usize = 1024;
/// First pause before a lost connection is opened again; it doubles with each failure in a row ...
const FIRST_PAUSE: Duration = Duration::from_millis(1);
/// ... up to this, so that a dead target costs nothing and a restarted one is soon found.
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// With more connections than this their end is a reset: as many ports in TIME_WAIT would keep the next run from its own
/// for a minute (28,232 ports by default).
const RESET_ABOVE: usize = 10_000;

/// Starts to open all connections of this thread; each becomes a task of its own.
pub fn all<P: Protocol>(worker: &Rc<Worker<P>>) {
    worker.shared.connecting.begin(worker.clock.now());
    let at_a_time = (AT_A_TIME_IN_ALL / worker.share.threads).clamp(1, AT_A_TIME);
    let pacer = Rc::new(RefCell::new(ConnectPacer::default()));
    for _ in 0..at_a_time.min(worker.share.own()) {
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
    brunt_runtime::spawn(P::keep_talking(Rc::clone(worker), index as u32, link));
    worker.shared.connecting.settle(now_ns, worker.host(index as u32), error);
}

/// Opens a lost connection again, however often it takes; `None` when the window is over.
pub async fn again<P: Protocol>(worker: &Worker<P>, index: u32, failures: &mut u32) -> Option<P::Link> {
    while pause(worker, failures).await {
        if let Ok(link) = open(worker, index).await {
            return Some(link);
        }
    }
    None
}

/// Waits before another attempt after `failures` in a row, this one included; false when the window is over.
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

/// One attempt to open connection `index` of this thread, however long it takes; an error is the caller's to count.
pub async fn dial<P: Protocol>(worker: &Worker<P>, index: u32) -> io::Result<P::Link> {
    let stream = TcpStream::connect_from(worker.address(index), worker.source()).await?;
    if worker.share.connections > RESET_ABOVE {
        stream.set_linger_zero()?;
    }
    worker.accepted(index);
    let link = P::prepare(worker, index, stream).await?;
    worker.opened(index);
    Ok(link)
}
