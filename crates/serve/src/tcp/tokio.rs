//! Tokio as in its documentation: a task per connection, `read` and `write_all`; on one runtime, or on one per core.

use super::shared::context::{Concurrency, ModelContext, ServerModel, Workers};
use super::shared::threads::{check, run_workers};
use crate::{Counts, Options, ServeError, Service, report::is_failure};
use std::net::TcpListener as Listener;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::{io, sync::Arc, time::Duration};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};
use tokio::time::{sleep, timeout};

#[derive(Default)]
struct Totals {
    accepted: AtomicU64,
    failed: AtomicU64,
    open: AtomicUsize,
}

pub(crate) static TOKIO: ServerModel = ServerModel {
    word: "tokio",
    about: "tokio, multi-thread on several cores",
    backend: "tokio current-thread",
    workers: Workers::Pooled,
    concurrency: Concurrency::Unlimited,
    listener_per_worker: false,
    run,
};

pub(crate) static TOKIO_EACH: ServerModel = ServerModel {
    word: "tokio-each",
    about: "a current-thread tokio per core",
    backend: "tokio current-thread a core",
    workers: Workers::Threads,
    concurrency: Concurrency::Unlimited,
    listener_per_worker: true,
    run: run_each,
};

/// One runtime: current-thread on one core, multi-thread on several.
fn run(context: &ModelContext) -> Result<Counts, ServeError> {
    let workers = &context.options.workers;
    let runtime = build(workers)?;
    let listeners = context.listeners()?;
    let kind = if workers.len() == 1 { "current-thread" } else { "multi-thread" };
    Ok(serve(runtime, listeners, context.options, context.stop, || context.listening(format_args!("tokio {kind}")))?)
}

fn run_each(context: &ModelContext) -> Result<Counts, ServeError> {
    let options = context.options;
    let part = |_| Ok((current_thread()?, context.listeners()?));
    let parts = options.workers.iter().map(part).collect::<Result<Vec<_>, ServeError>>()?;
    let body = |(runtime, listeners): (Runtime, Vec<Listener>), stop: &brunt_runtime::CancellationToken| {
        serve(runtime, listeners, options, stop, || {})
    };
    Ok(run_workers(&options.workers, context.stop, parts, body, |_| {
        context.listening(TOKIO_EACH.backend);
        Ok(())
    })?)
}

/// Accepts until the stop, drains connections for the grace time, closes the rest.
fn serve(
    runtime: Runtime,
    listeners: Vec<Listener>,
    options: &Options,
    stop: &brunt_runtime::CancellationToken,
    listening: impl FnOnce(),
) -> io::Result<Counts> {
    let totals = Arc::new(Totals::default());
    runtime.block_on(async {
        let mut acceptors = Vec::new();
        for listener in listeners {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            acceptors.push(tokio::spawn(accept(listener, totals.clone(), options.service, options.buffer())));
        }
        listening();
        stop.cancelled().await;
        acceptors.iter().for_each(tokio::task::JoinHandle::abort);
        let drained = async {
            while totals.open.load(Ordering::Relaxed) > 0 {
                sleep(Duration::from_millis(2)).await;
            }
        };
        let _ = timeout(options.grace, drained).await;
        io::Result::Ok(())
    })?;
    let load = |total: &AtomicU64| total.load(Ordering::Relaxed);
    let cut = totals.open.load(Ordering::Relaxed) as u64;
    runtime.shutdown_background();
    Ok(Counts { accepted: load(&totals.accepted), failed: load(&totals.failed), cut })
}

fn current_thread() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}

/// Current-thread on one core; on several, multi-thread with a pinned worker per core.
fn build(workers: &[Option<usize>]) -> io::Result<Runtime> {
    if let [core] = workers {
        if let Some(core) = core {
            brunt_runtime::group::pin_to_core(*core)?;
        }
        return current_thread();
    }
    let cores: Vec<Option<usize>> = workers.to_vec();
    // Checked here because the start hook of a thread cannot report errors.
    check(workers)?;
    let next = AtomicUsize::new(0);
    Builder::new_multi_thread()
        .worker_threads(cores.len())
        .on_thread_start(move || {
            // Worker threads start first; blocking threads, if any, share their cores.
            if let Some(core) = cores[next.fetch_add(1, Ordering::Relaxed) % cores.len()] {
                let _ = brunt_runtime::group::pin_to_core(core);
            }
        })
        .enable_all()
        .build()
}

async fn accept(listener: TcpListener, totals: Arc<Totals>, service: Service, buffer: usize) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                totals.accepted.fetch_add(1, Ordering::Relaxed);
                totals.open.fetch_add(1, Ordering::Relaxed);
                let totals = totals.clone();
                tokio::spawn(async move {
                    if connection(stream, service, buffer).await.is_err_and(|error| is_failure(&error)) {
                        totals.failed.fetch_add(1, Ordering::Relaxed);
                    }
                    totals.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            // Out of descriptors: wait for connections to end instead of retrying at once.
            Err(_) => sleep(Duration::from_millis(20)).await,
        }
    }
}

async fn connection(mut stream: TcpStream, service: Service, buffer: usize) -> io::Result<()> {
    let mut buffer = vec![0; buffer];
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            return Ok(());
        }
        let Service::Echo(work) = service else { continue };
        match work.pause() {
            Some(time) => sleep(time).await,
            None => work.compute(),
        }
        stream.write_all(&buffer[..len]).await?;
    }
}
