//! brunt's runtime: per core a thread, a ring (or an epoll set) and a listener; a task per connection.

use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use crate::report::is_failure;
use crate::{Counts, Options, ServeError, Service};
use brunt_runtime::net::{Address, Any, Listener, Stream};
use brunt_runtime::time::sleep;
use brunt_runtime::{BackendKind, Builder, CancellationToken, Runtime, Spinning, spawn};
use std::{cell::Cell, net, rc::Rc, sync::Barrier, time::Duration};
#[cfg(feature = "sim")]
use {crate::Notice, std::sync::mpsc};

/// After the grace period, for replies that are being sent: more would be a second grace period for peers that do not read.
const LAST_SENDS: Duration = Duration::from_millis(200);

pub(crate) static URING: ServerModel = ServerModel {
    word: "uring",
    about: "brunt's runtime on io_uring",
    backend: "io_uring",
    workers: Workers::Threads,
    concurrency: Concurrency::Unlimited,
    listener_per_worker: true,
    run: |context| run(context, BackendKind::Uring),
};

pub(crate) static EPOLL: ServerModel = ServerModel {
    word: "epoll",
    about: "brunt's runtime on epoll",
    backend: "epoll",
    workers: Workers::Threads,
    concurrency: Concurrency::Unlimited,
    listener_per_worker: true,
    run: |context| run(context, BackendKind::Epoll),
};

fn run(context: &ModelContext, backend: BackendKind) -> Result<Counts, ServeError> {
    let (options, stop) = (context.options, context.stop);
    let builder = builder(backend, options.spin);
    let ready = Barrier::new(options.workers.len());
    let failed = CancellationToken::new();
    let results = brunt_runtime::group::run(&builder, &options.workers, |_| {
        let (ready, failed) = (&ready, &failed);
        async move {
            let listeners = context.listeners().and_then(|tcp| adopt(tcp, context.other_than_tcp()));
            if listeners.is_err() {
                failed.cancel();
            }
            // Announced when all workers listen.
            let leader = ready.wait().is_leader();
            if leader && !failed.is_cancelled() {
                context.listening(backend);
            }
            let listeners = listeners?;
            if failed.is_cancelled() {
                return Ok::<_, ServeError>(Counts::default());
            }
            Ok(serve(listeners, options, stop).await)
        }
    });
    results.into_iter().try_fold(Counts::default(), |counts, result| Ok(counts + result??))
}

/// As [`run`], on workers of the simulated world of this thread.
#[cfg(feature = "sim")]
pub(crate) async fn run_in_world(
    options: &Options,
    stop: &CancellationToken,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let context = ModelContext::new(options, stop, notices)?;
    let builder = builder(BackendKind::Uring, options.spin);
    let (mut workers, mut ready) = (Vec::new(), Vec::new());
    let failed = stop.child_token();
    for number in 0..options.workers.len() {
        let (listeners, options, stop) = (context.listeners()?, options.clone(), failed.clone());
        let others: Vec<_> = context.other_than_tcp().cloned().collect();
        let listens = CancellationToken::new();
        ready.push(listens.clone());
        let body = move || async move {
            let listeners = adopt(listeners, &others).inspect_err(|_| stop.cancel());
            listens.cancel();
            Ok::<_, ServeError>(serve(listeners?, &options, &stop).await)
        };
        workers.push(brunt_runtime::group::spawn(&builder, &format!("worker-{number}"), None, body)?);
    }
    // Announced when all workers listen.
    for listens in ready {
        listens.cancelled().await;
    }
    if !failed.is_cancelled() {
        context.listening(BackendKind::Uring);
    }
    let mut counts = Counts::default();
    for worker in workers {
        counts = counts + worker.await.expect("a worker has panicked")?;
    }
    Ok(counts)
}

/// A builder for the runtime of this model, also used by HTTP.
pub(crate) fn builder(backend: BackendKind, spin: Spinning) -> Builder {
    Runtime::builder()
        .env_prefix("BRUNT")
        .backend(Some(backend))
        .end_timeout(LAST_SENDS)
        .spin(spin.most)
        .spin_connections(spin.connections)
}

/// Listeners of this worker. Addresses other than TCP have one worker.
fn adopt<'a>(
    tcp: Vec<net::TcpListener>,
    others: impl IntoIterator<Item = &'a Address>,
) -> Result<Vec<Listener<Any>>, ServeError> {
    let tcp = tcp.into_iter().map(|listener| Ok(Listener::from_std(listener.into())?));
    let bind = |address| Listener::<Any>::bind(address).map_err(|error| ServeError::Failed(error.to_string()));
    tcp.chain(others.into_iter().map(bind)).collect()
}

/// Accepts until the stop, then drains connections for the grace time.
async fn serve(listeners: Vec<Listener<Any>>, options: &Options, stop: &CancellationToken) -> Counts {
    let shared = Rc::new(Shared { counts: Cell::default(), service: options.service });
    let accept = |listener| spawn(accept(listener, shared.clone()));
    let acceptors: Vec<_> = listeners.into_iter().map(accept).collect();
    stop.cancelled().await;
    acceptors.iter().for_each(brunt_runtime::JoinHandle::abort);
    let left = brunt_runtime::drain(options.grace).await;
    let mut counts = shared.counts.get();
    counts.cut = left as u64;
    counts
}

async fn accept(listener: Listener<Any>, shared: Rc<Shared>) {
    loop {
        // An error concerns one connection; `accept` itself waits when descriptors run out.
        let Ok(stream) = listener.accept().await else { continue };
        shared.count(Counts { accepted: 1, ..Counts::default() });
        spawn(connection(stream, shared.clone()));
    }
}

/// Echoes from the receive buffer. One flat future, because its size is the memory of a connection: a block, since an async
/// function keeps its arguments twice, and no `match` that keeps what was received while it waits for something else.
#[expect(clippy::manual_async_fn, reason = "see above")]
fn connection(mut stream: Stream<Any>, shared: Rc<Shared>) -> impl Future<Output = ()> {
    async move {
        let error = loop {
            let bytes = match stream.recv().await {
                Ok(bytes) if bytes.is_empty() => return,
                Ok(bytes) => bytes,
                Err(error) => break error,
            };
            let Service::Echo(work) = shared.service else { continue };
            match work.pause() {
                Some(time) => sleep(time).await,
                None => work.compute(),
            }
            if let Err(error) = stream.send(bytes).await {
                break error;
            }
        };
        if is_failure(&error) {
            shared.count(Counts { failed: 1, ..Counts::default() });
        }
    }
}

struct Shared {
    counts: Cell<Counts>,
    service: Service,
}

impl Shared {
    fn count(&self, more: Counts) {
        self.counts.set(self.counts.get() + more);
    }
}
