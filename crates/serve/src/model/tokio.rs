//! Tokio, as its documentation would have it: a task a connection, `read` and `write_all`.

use crate::{Counts, Notice, Options, ServeError, listen::Reserved};
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
        mpsc,
    },
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::{Builder, Runtime},
};

/// Bytes of a connection's buffer: a ping-pong of the usual sizes in one read.
const BUFFER: usize = 4096;

#[derive(Default)]
struct Totals {
    accepted: AtomicU64,
    failed: AtomicU64,
    open: AtomicUsize,
}

pub(crate) fn echo(
    options: &Options,
    reserved: &[Reserved],
    stop: &runtime::Stop,
    notices: &mpsc::Sender<Notice>,
) -> Result<Counts, ServeError> {
    let runtime = build(&options.workers).map_err(ServeError::Worker)?;
    let listeners = reserved.iter().map(Reserved::listener).collect::<Result<Vec<_>, _>>()?;
    let totals = Arc::new(Totals::default());
    runtime.block_on(async {
        let mut acceptors = Vec::new();
        for listener in listeners {
            listener.set_nonblocking(true).map_err(ServeError::Worker)?;
            let listener = TcpListener::from_std(listener).map_err(ServeError::Worker)?;
            acceptors.push(tokio::spawn(accept(listener, totals.clone())));
        }
        let kind = if options.workers.len() == 1 { "current-thread" } else { "multi-thread" };
        let addresses = reserved.iter().map(|reserved| reserved.address).collect();
        let _ = notices.send(Notice::Listening { addresses, backend: format!("tokio {kind}") });
        stop.raised().await;
        acceptors.iter().for_each(tokio::task::JoinHandle::abort);
        let drained = async {
            while totals.open.load(Ordering::Relaxed) > 0 {
                tokio::time::sleep(std::time::Duration::from_millis(2)).await;
            }
        };
        let _ = tokio::time::timeout(options.grace, drained).await;
        Ok(())
    })?;
    let load = |total: &AtomicU64| total.load(Ordering::Relaxed);
    let cut = totals.open.load(Ordering::Relaxed) as u64;
    runtime.shutdown_background();
    Ok(Counts { accepted: load(&totals.accepted), failed: load(&totals.failed), cut })
}

/// One core gets the runtime without threads of its own, several get one pinned worker thread each.
fn build(workers: &[Option<usize>]) -> io::Result<Runtime> {
    if let [core] = workers {
        if let Some(core) = core {
            ::runtime::group::pin_to_core(*core)?;
        }
        return Builder::new_current_thread().enable_all().build();
    }
    let cores: Vec<Option<usize>> = workers.to_vec();
    // Refused here, where it can still be reported: a thread's start hook cannot fail.
    for core in cores.iter().flatten() {
        std::thread::scope(|scope| {
            scope.spawn(|| ::runtime::group::pin_to_core(*core)).join().expect("pinning does not panic")
        })?;
    }
    let next = AtomicUsize::new(0);
    Builder::new_multi_thread()
        .worker_threads(cores.len())
        .on_thread_start(move || {
            // Worker threads start first; threads of the blocking pool, if any, share their cores.
            if let Some(core) = cores[next.fetch_add(1, Ordering::Relaxed) % cores.len()] {
                let _ = ::runtime::group::pin_to_core(core);
            }
        })
        .enable_all()
        .build()
}

async fn accept(listener: TcpListener, totals: Arc<Totals>) {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                totals.accepted.fetch_add(1, Ordering::Relaxed);
                totals.open.fetch_add(1, Ordering::Relaxed);
                let totals = totals.clone();
                tokio::spawn(async move {
                    match connection(stream).await {
                        Err(error) if error.kind() != io::ErrorKind::ConnectionReset => {
                            totals.failed.fetch_add(1, Ordering::Relaxed);
                        }
                        _ => (),
                    }
                    totals.open.fetch_sub(1, Ordering::Relaxed);
                });
            }
            // Out of descriptors: wait for connections to end instead of asking again at once.
            Err(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
        }
    }
}

/// Whatever arrives goes back.
async fn connection(mut stream: TcpStream) -> io::Result<()> {
    let mut buffer = [0; BUFFER];
    loop {
        let len = stream.read(&mut buffer).await?;
        if len == 0 {
            return Ok(());
        }
        stream.write_all(&buffer[..len]).await?;
    }
}
