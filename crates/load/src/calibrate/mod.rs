//! How fast the generator is by itself: its load on a target that answers without looking at what came.
//!
//! What a real server reaches near this rate is the generator's figure, or that of the kernel between them, and not the
//! server's. The target stands on the same runtime as the generator, which is the least work a reply can be here.

mod answer;

use crate::{LoadError, Options, Silent, Target, run};
use answer::{Answer, Replies};
use brunt_runtime::{CancellationToken, Runtime, net, spawn};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    sync::Arc,
    thread::{self, JoinHandle},
    time::Duration,
};

/// Windows, of which the best counts: an interruption spoils one, and a ceiling that is too low accuses the generator.
const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_millis(800);
const WARMUP: Duration = Duration::from_millis(200);

/// The highest closed-loop rate, in requests per second, of this load on a target that does nothing and runs on these
/// cores; where the scheduler puts it if none is named. Takes three seconds. Over HTTP, replies have bodies of `body`
/// bytes, and of several URLs the one with the longest request stands for all.
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
        0.0 => Err(LoadError::Options("the target that does nothing answered no request in time".to_owned())),
        best => Ok(best),
    }
}

/// The same load in a closed loop on a target that does nothing, and that target.
fn redirect(options: &Options, cores: &[usize], body: u64) -> Result<(Options, Null), LoadError> {
    let (mut target, answer) = match &options.target {
        Target::Echo { .. } => (options.target.clone(), Answer::SendBack),
        Target::Http(http) => {
            let (http, replies) = Replies::to(http, body).map_err(LoadError::Options)?;
            (Target::Http(http), Answer::Http(Arc::new(replies)))
        }
    };
    let failed = |error: io::Error| LoadError::Options(format!("the target that does nothing cannot run: {error}"));
    let null = Null::start(cores, answer).map_err(failed)?;
    match &mut target {
        Target::Echo { address, .. } => *address = null.address,
        Target::Http(http) => http.hosts.iter_mut().for_each(|host| host.address = null.address),
    }
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
    Ok((options, null))
}

/// The target that does nothing, until it is dropped.
struct Null {
    address: SocketAddr,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Null {
    fn start(cores: &[usize], answer: Answer) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let workers: Vec<Option<usize>> =
            if cores.is_empty() { vec![None] } else { cores.iter().copied().map(Some).collect() };
        let listeners = workers.iter().map(|_| listener.try_clone()).collect::<io::Result<Vec<_>>>()?;
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("null".to_owned()).spawn(move || {
            let (stop, listeners, answer) = (&stopped, &listeners, &answer);
            // A worker that cannot run accepts nothing, which the generator tells.
            brunt_runtime::group::run(&Runtime::builder(), &workers, |worker| async move {
                let listener = listeners[worker].try_clone().and_then(net::TcpListener::from_std)?;
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

impl Drop for Null {
    fn drop(&mut self) {
        self.stop.cancel();
        // A panic has said what there is to say.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn accept(listener: net::TcpListener, answer: Answer) {
    loop {
        if let Ok(stream) = listener.accept().await {
            spawn(answer.clone().keep_answering(stream));
        }
    }
}

#[cfg(test)]
mod tests;
