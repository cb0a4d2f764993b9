//! The life cycle of a worker, the same for every model: accept until the stop, do periodic work every tick, then finish the
//! requests in progress.

use super::connection::{ServerTransport, serve};
use super::tls;
use super::worker::Worker;
use brunt_runtime::{CancellationToken, time};
use std::time::Duration;
use std::{io, net::TcpListener, rc::Rc};

/// The runtime of a model.
pub(crate) trait Model: 'static {
    type Stream: ServerTransport;
    type Listener: 'static;

    fn listen(listener: TcpListener) -> io::Result<Self::Listener>;
    /// Pauses while descriptors have run out. An error concerns one connection.
    fn accept(listener: &Self::Listener) -> impl Future<Output = io::Result<Self::Stream>>;
    /// Returns what aborts the task.
    fn spawn(task: impl Future<Output = ()> + 'static) -> impl FnOnce();
}

/// Serves until the stop, then the open connections for the grace time. Returns the number of connections left after that.
pub(crate) async fn run<M: Model>(
    listeners: Vec<(u16, TcpListener)>,
    worker: Rc<Worker>,
    stop: &CancellationToken,
    grace: Duration,
) -> io::Result<u64> {
    let mut acceptors = Vec::new();
    for (number, listener) in listeners {
        acceptors.push(M::spawn(accept::<M>(M::listen(listener)?, number, worker.clone())));
    }
    let abort_ticks = M::spawn(tick::<M>(worker.clone()));
    stop.cancelled().await;
    acceptors.into_iter().for_each(|abort| abort());
    worker.stop();
    let deadline = time::now() + grace;
    let mut pause = Duration::from_micros(200);
    while worker.counters.open.get() > 0 && time::now() < deadline {
        M::Stream::sleep(pause.min(deadline.saturating_duration_since(time::now()))).await;
        pause = (pause * 2).min(Duration::from_millis(5));
    }
    abort_ticks();
    worker.end();
    Ok(worker.counters.open.get())
}

async fn accept<M: Model>(listener: M::Listener, number: u16, worker: Rc<Worker>) {
    loop {
        let Ok(stream) = M::accept(&listener).await else { continue };
        worker.counters.accepted.add(1);
        let router = worker.router();
        if let Some(refuse) = &router.listener(number).refuse
            && refuse.borrow_mut().hits()
        {
            worker.counters.refused_connections.add(1);
            stream.reset_when_closed();
            continue;
        }
        match router.listener(number).tls.clone() {
            None => _ = M::spawn(serve(stream, number, worker.clone())),
            Some(server) => _ = M::spawn(tls::serve(stream, number, worker.clone(), server)),
        }
    }
}

async fn tick<M: Model>(worker: Rc<Worker>) {
    loop {
        M::Stream::sleep(worker.deadlines.pause()).await;
        worker.tick();
    }
}
