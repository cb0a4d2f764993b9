//! How fast the generator is by itself: its load on a target that sends back what came without looking at it.
//!
//! What a real server reaches near this rate is the generator's figure, or that of the kernel between them, and not the
//! server's. The target stands on the same runtime as the generator, which is the least work a reply can be here.

use crate::{LoadError, Options, Silent, Target, run};
use runtime::{Runtime, Stop, net, spawn};
use std::{
    io,
    net::{Ipv4Addr, SocketAddr, TcpListener},
    thread::{self, JoinHandle},
    time::Duration,
};

/// Windows, of which the best counts: an interruption spoils one, and a ceiling that is too low accuses the generator.
const WINDOWS: usize = 3;
const WINDOW: Duration = Duration::from_millis(800);
const WARMUP: Duration = Duration::from_millis(200);

/// The highest closed-loop rate, in requests per second, of this load on a target that does nothing and runs on these
/// cores; where the scheduler puts it if none is named. Takes three seconds.
///
/// # Errors
/// The load is no ping-pong, or could not be made.
pub fn ceiling(options: &Options, cores: &[usize]) -> Result<f64, LoadError> {
    let Target::Ping { size, .. } = options.target else {
        return Err(LoadError::Options("the ceiling of the generator can be measured with tcp:// alone".to_owned()));
    };
    let failed = |error: io::Error| LoadError::Options(format!("the target that does nothing cannot run: {error}"));
    let target = Null::start(cores).map_err(failed)?;
    let options = Options {
        url: format!("tcp://{}", target.address),
        target: Target::Ping { address: target.address, size },
        duration: WINDOW,
        warmup: WARMUP,
        requests: None,
        rate: None,
        connect_rate: None,
        sources: None,
        ..options.clone()
    };
    let mut best: f64 = 0.0;
    for _ in 0..WINDOWS {
        best = best.max(run(&options, &mut Silent)?.result.requests.rate);
    }
    Ok(best)
}

/// The target that does nothing, until it is dropped.
struct Null {
    address: SocketAddr,
    stop: Stop,
    thread: Option<JoinHandle<()>>,
}

impl Null {
    fn start(cores: &[usize]) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let workers: Vec<Option<usize>> =
            if cores.is_empty() { vec![None] } else { cores.iter().copied().map(Some).collect() };
        let listeners = workers.iter().map(|_| listener.try_clone()).collect::<io::Result<Vec<_>>>()?;
        let stop = Stop::new();
        let stopped = stop.clone();
        let thread = thread::Builder::new().name("null".to_owned()).spawn(move || {
            let stop = &stopped;
            let listeners = &listeners;
            // A worker that cannot run accepts nothing, which the generator tells.
            runtime::group::run(&Runtime::builder(), &workers, |worker| async move {
                let listener = listeners[worker].try_clone().and_then(net::TcpListener::from_std)?;
                let accepting = spawn(accept(listener));
                stop.raised().await;
                accepting.abort();
                runtime::drain(Duration::ZERO).await;
                io::Result::Ok(())
            });
        })?;
        Ok(Self { address, stop, thread: Some(thread) })
    }
}

impl Drop for Null {
    fn drop(&mut self) {
        self.stop.raise();
        // A panic has said what there is to say.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

async fn accept(listener: net::TcpListener) {
    loop {
        if let Ok(stream) = listener.accept().await {
            spawn(send_back(stream));
        }
    }
}

async fn send_back(mut stream: net::TcpStream) {
    let _ = stream.set_nodelay(true);
    while let Ok(lease) = stream.recv().await {
        if lease.is_empty() || stream.send(lease).await.is_err() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arrival;

    #[test]
    fn a_ceiling_is_a_rate_and_leaves_no_thread_behind() {
        let options = Options {
            url: String::new(),
            target: Target::Ping { address: "127.0.0.1:9".parse().unwrap(), size: 100 },
            connections: 4,
            threads: vec![None],
            duration: Duration::from_secs(60),
            warmup: Duration::ZERO,
            requests: Some(1),
            rate: Some(1.0),
            arrival: Arrival::Constant,
            timeout: Duration::from_secs(10),
            connect_rate: Some(1.0),
            sources: None,
            verify: true,
            seed: 1,
        };
        let rate = ceiling(&options, &[]).unwrap();
        // Less than a thousand would be a machine of another age, or one with much else to do; what was asked of the real
        // target must not bound it.
        assert!(rate > 10.0, "{rate}");
        // Other tests have threads of their own; this name is the target's. The kernel takes a thread off its list a moment
        // after it was joined.
        let is_there = || {
            let threads = std::fs::read_dir("/proc/self/task").unwrap();
            let mut names = threads.filter_map(|thread| std::fs::read_to_string(thread.ok()?.path().join("comm")).ok());
            names.any(|name| name.trim_end() == "null")
        };
        let until = std::time::Instant::now() + Duration::from_secs(20);
        while is_there() {
            assert!(std::time::Instant::now() < until, "its thread is left");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}
