//! The generator's ceiling: its rate on a null server, which answers without parsing.
//!
//! A rate near the ceiling is that of the generator or the kernel, not of the server. The null server uses the generator's
//! runtime, with which a reply costs the least here.

use crate::http::{Expect, Http, Requests};
use crate::{LoadError, Options, Silent, Target, run};
use brunt_runtime::net::{Address, Any, Listener, Stream};
use brunt_runtime::{CancellationToken, Runtime, spawn};
use brunt_spec::Direct;
use std::thread::{self, JoinHandle};
use std::{io, sync::Arc, time::Duration};

/// Measured windows, of which the best counts: preemption lowers a rate, and a ceiling that is too low blames the generator.
const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_millis(800);
const WARMUP: Duration = Duration::from_millis(200);
/// Limit of the replies to one write, which are kept for the run.
const MOST_BYTES: u64 = 256 << 20;

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
    let start = |address: &Address, answer| NullServer::start(address, cores, answer).map_err(failed);
    let (target, server) = match &options.target {
        Target::Echo { address, size, .. } => {
            let server = start(address, Answer::Echo)?;
            (Target::Echo { address: server.address.clone(), size: *size, reuse: None }, server)
        }
        Target::Http(http) => {
            let (mut http, replies) = Replies::to(http, body).map_err(LoadError::Options)?;
            let server = start(&http.hosts[0].address.clone(), Answer::Http(Arc::new(replies)))?;
            http.hosts.iter_mut().for_each(|host| host.address = server.address.clone());
            (Target::Http(http), server)
        }
    };
    let options = Options {
        target,
        duration: WINDOW,
        warmup: WARMUP,
        steady: false,
        requests: None,
        rate: None,
        stages: Vec::new(),
        connection_stages: Vec::new(),
        replay: None,
        connect_rate: None,
        sources: None,
        direct: Direct { spread: None, send_tick: None, ..options.direct.clone() },
        ..options.clone()
    };
    Ok((options, server))
}

/// A server that answers without parsing, until dropped.
struct NullServer {
    address: Address,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl NullServer {
    /// Listens on an unused address of the family of `like`.
    fn start(like: &Address, cores: &[usize], answer: Answer) -> io::Result<Self> {
        let (socket, address) = like.listen_unused()?;
        let workers: Vec<Option<usize>> =
            if cores.is_empty() { vec![None] } else { cores.iter().copied().map(Some).collect() };
        let stop = CancellationToken::new();
        let cancelled = stop.clone();
        let thread = thread::Builder::new().name("null".to_owned()).spawn(move || {
            let (stop, socket, answer) = (&cancelled, &socket, &answer);
            // A worker that cannot run accepts nothing, which the generator reports.
            brunt_runtime::group::run(&Runtime::builder().env_prefix("BRUNT"), &workers, |_| async move {
                let listener = Listener::<Any>::from_std(socket.try_clone()?)?;
                let accepting = spawn(accept(listener, answer.clone()));
                stop.cancelled().await;
                accepting.abort();
                brunt_runtime::drain(Duration::ZERO).await;
                io::Result::Ok(())
            });
        })?;
        Ok(Self { address, stop, thread: Some(thread) })
    }
}

impl Drop for NullServer {
    fn drop(&mut self) {
        self.stop.cancel();
        // A panic has printed its message.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn accept(listener: Listener<Any>, answer: Answer) {
    loop {
        if let Ok(stream) = listener.accept().await {
            spawn(answer.clone().serve(stream));
        }
    }
}

#[derive(Debug, Clone)]
enum Answer {
    Echo,
    Http(Arc<Replies>),
}

/// Replies to any batch of requests. Received bytes are counted, not parsed: in a closed loop the length of a batch is known,
/// and nothing follows before its replies.
#[derive(Debug)]
struct Replies {
    /// Length of a batch of requests in bytes.
    batch: usize,
    /// The same of the last batch of a connection.
    last: usize,
    /// Batches on a connection before it is closed.
    batches: u64,
    bytes: Vec<u8>,
}

impl Answer {
    async fn serve(self, mut stream: Stream<Any>) {
        // An error ends the connection, as its end does.
        let _ = match self {
            Self::Echo => echo(&mut stream).await,
            Self::Http(replies) => replies.serve(&mut stream).await,
        };
    }
}

async fn echo(stream: &mut Stream<Any>) -> io::Result<()> {
    loop {
        let received = stream.recv().await?;
        if received.is_empty() {
            return Ok(());
        }
        stream.send(received).await?;
    }
}

impl Replies {
    /// The load on the null server, of the longest requests of `http` alone, and the replies, with bodies of `body` bytes.
    ///
    /// # Errors
    /// The requests are made by a script, or the replies are too large.
    fn to(http: &Http, body: u64) -> Result<(Http, Self), String> {
        let Some((address, rendered)) = http.longest() else {
            return Err(
                "the requests of a script, or with placeholders, cannot be repeated for a null server".to_owned()
            );
        };
        let rendered = rendered.longest();
        let (text, batch) = (http.expect.body.as_deref().unwrap_or_default(), rendered.batch);
        let requests = u64::from(batch.requests());
        let total = body.max(text.len() as u64).saturating_mul(requests);
        if total > MOST_BYTES {
            return Err(format!(
                "replies to one write of {total} bytes are too many: {MOST_BYTES} may be held at most"
            ));
        }
        // The expected text is at the end, so that all of the body is searched.
        let mut body = vec![b'.'; (body as usize).saturating_sub(text.len())];
        body.extend_from_slice(text);
        let mut bytes = Vec::new();
        for number in 0..batch.requests() {
            // Leaves the connection open in both versions (RFC 9112, 9.3).
            bytes.extend_from_slice(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len()).as_bytes());
            if !batch.is_head(number) {
                bytes.extend_from_slice(&body);
            }
        }
        let replies = Self {
            batch: rendered.longest_bytes(false),
            last: rendered.longest_bytes(true),
            batches: http.reuse.map_or(u64::MAX, |reuse| reuse / requests),
            bytes,
        };
        // Without the checks that cost nothing.
        let expect = Expect { body: http.expect.body.clone(), ..Expect::default() };
        let requests = Requests::Rendered(Arc::new(rendered));
        Ok((Http::on(address.clone(), requests, http.reuse, expect), replies))
    }

    async fn serve(&self, stream: &mut Stream<Any>) -> io::Result<()> {
        for batch in 1..=self.batches {
            let mut missing = if batch == self.batches { self.last } else { self.batch };
            while missing > 0 {
                let received = stream.recv().await?;
                if received.is_empty() {
                    return Ok(());
                }
                missing = missing.saturating_sub(received.len());
            }
            stream.write_all(&self.bytes).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
