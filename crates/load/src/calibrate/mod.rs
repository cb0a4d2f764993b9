//! The generator's ceiling: its rate on a null server, which answers without parsing.
//!
//! A rate near the ceiling is that of the generator or the kernel, not of the server. The null server uses the generator's
//! runtime, with which a reply costs the least here.

mod answer;

use crate::{Endpoint, LoadError, Options, Silent, Target, run};
use answer::{Answer, Replies};
use brunt_runtime::net::{self, Family};
use brunt_runtime::{CancellationToken, Runtime, spawn};
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{io, os::linux::net::SocketAddrExt, sync::Arc, sync::atomic::AtomicU32, sync::atomic::Ordering::Relaxed};

/// Measured windows, of which the best counts: preemption lowers a rate, and a ceiling that is too low blames the generator.
const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_millis(800);
const WARMUP: Duration = Duration::from_millis(200);

/// The highest closed-loop rate of this load, in requests per second, on a null server pinned to `cores` (unpinned if
/// empty). Takes three seconds. Over HTTP, replies have bodies of `body` bytes, and the longest request stands for all.
///
/// # Errors
/// The requests come from a script, or the load could not be made.
pub fn ceiling(options: &Options, cores: &[usize], body: u64) -> Result<f64, LoadError> {
    let (options, _target) = redirect(options, cores, body)?;
    let mut best: f64 = 0.0;
    for _ in 0..WINDOWS {
        best = best.max(run(&options, &mut Silent)?.result.requests.rate);
    }
    match best {
        0.0 => Err(LoadError::Options("the null server answered no request in time".to_owned())),
        best => Ok(best),
    }
}

/// The same load as a closed loop on a null server, and that server.
fn redirect(options: &Options, cores: &[usize], body: u64) -> Result<(Options, NullServer), LoadError> {
    let failed = |error: io::Error| LoadError::Options(format!("the null server cannot run: {error}"));
    let start = |endpoint: &Endpoint, answer| NullServer::start(endpoint, cores, answer).map_err(failed);
    let (target, server) = match &options.target {
        Target::Echo { endpoint, size } => {
            let server = start(endpoint, Answer::Echo)?;
            (Target::Echo { endpoint: server.endpoint.clone(), size: *size }, server)
        }
        Target::Http(http) => {
            let (mut http, replies) = Replies::to(http, body).map_err(LoadError::Options)?;
            let server = start(&http.hosts[0].address.into(), Answer::Http(Arc::new(replies)))?;
            http.hosts.iter_mut().for_each(|host| host.address = server.endpoint.ip().unwrap_or(host.address));
            (Target::Http(http), server)
        }
    };
    let options = Options {
        target,
        duration: WINDOW,
        warmup: WARMUP,
        requests: None,
        rate: None,
        connect_rate: None,
        sources: None,
        ..options.clone()
    };
    Ok((options, server))
}

/// A server that answers without parsing, until dropped.
struct NullServer {
    endpoint: Endpoint,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

enum Socket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Socket {
    /// Listens on a free endpoint of the kind of `like`.
    fn bind(like: &Endpoint) -> io::Result<(Self, Endpoint)> {
        match like {
            Endpoint::Ip(_) => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
                let endpoint = listener.local_addr()?.into();
                Ok((Self::Tcp(listener), endpoint))
            }
            Endpoint::Unix(_) => {
                static NUMBER: AtomicU32 = AtomicU32::new(0);
                // A name in the abstract namespace leaves no file behind.
                let name = format!("brunt-null-{}-{}", std::process::id(), NUMBER.fetch_add(1, Relaxed));
                let listener = UnixListener::bind_addr(&SocketAddr::from_abstract_name(&name)?)?;
                Ok((Self::Unix(listener), Endpoint::Unix(format!("\0{name}").into())))
            }
        }
    }

    async fn serve(&self, answer: &Answer) -> io::Result<()> {
        match self {
            Self::Tcp(listener) => {
                accept(net::TcpListener::from_std(listener.try_clone()?)?, answer, set_nodelay).await
            }
            Self::Unix(listener) => accept(net::UnixListener::from_std(listener.try_clone()?)?, answer, |_| ()).await,
        }
    }
}

fn set_nodelay(stream: &net::TcpStream) {
    // Fails only on a closed connection, which the first receive reports.
    let _ = stream.set_nodelay(true);
}

impl NullServer {
    fn start(like: &Endpoint, cores: &[usize], answer: Answer) -> io::Result<Self> {
        let (socket, endpoint) = Socket::bind(like)?;
        let workers: Vec<Option<usize>> =
            if cores.is_empty() { vec![None] } else { cores.iter().copied().map(Some).collect() };
        let stop = CancellationToken::new();
        let cancelled = stop.clone();
        let thread = thread::Builder::new().name("null".to_owned()).spawn(move || {
            let (stop, socket, answer) = (&cancelled, &Arc::new(socket), &answer);
            // A worker that cannot run accepts nothing, which the generator reports.
            brunt_runtime::group::run(&Runtime::builder().env_prefix("BRUNT"), &workers, |_| async move {
                let (socket, answer) = (Arc::clone(socket), answer.clone());
                let accepting = spawn(async move { socket.serve(&answer).await });
                stop.cancelled().await;
                accepting.abort();
                brunt_runtime::drain(Duration::ZERO).await;
                io::Result::Ok(())
            });
        })?;
        Ok(Self { endpoint, stop, thread: Some(thread) })
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.stop.cancel();
        // A panic has printed its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn accept<F: Family>(
    listener: net::Listener<F>,
    answer: &Answer,
    prepare: impl Fn(&net::Stream<F>),
) -> io::Result<()> {
    loop {
        if let Ok(stream) = listener.accept().await {
            prepare(&stream);
            spawn(answer.clone().serve(stream));
        }
    }
}

#[cfg(test)]
mod tests;
