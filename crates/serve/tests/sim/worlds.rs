//! Worlds for servers: a server runs on workers of one, clients are tasks beside it.

use brunt_runtime::sim::{Costs, Settings, World};
use brunt_runtime::{CancellationToken, JoinHandle, Spinning, spawn, time};
use brunt_serve::http::{self, Plan};
use brunt_serve::{Counts, Model, Notice, ServeError};
use std::sync::mpsc::{self, TryRecvError};
use std::time::UNIX_EPOCH;
use std::{net::SocketAddr, time::Duration};

pub const US: Duration = Duration::from_micros(1);
pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);
/// One way in the world of [`exact`]: what was sent at the end of a turn is seen in a turn of the other side.
pub const ONE_WAY: Duration = Duration::from_micros(11);
/// From sending a request until its reply.
pub const WAY: Duration = Duration::from_micros(22);

pub fn address() -> SocketAddr {
    ([127, 0, 0, 1], 7000).into()
}

/// Of the metrics.
pub fn page() -> SocketAddr {
    ([127, 0, 0, 1], 7001).into()
}

/// A world in which a turn of a worker takes a microsecond, a link ten, and nothing else takes time: all that happens is at whole
/// microseconds, and a sleep ends a turn after its time.
pub fn exact(seed: u64) -> World {
    let turn = Costs {
        turn: US,
        request: Duration::ZERO,
        completion: Duration::ZERO,
        poll: Duration::ZERO,
        clock: Duration::ZERO,
        wake: Duration::ZERO,
        spread: 0.0,
    };
    World::with_settings(seed, Settings { costs: turn, ..Settings::default() })
}

/// Time since the start of the world.
pub fn clock() -> Duration {
    time::system_now().duration_since(UNIX_EPOCH).unwrap()
}

/// Waits until exactly this time since the start of the world of [`exact`].
pub async fn until(at: Duration) {
    time::sleep_until(time::now() - clock() + at - US).await;
}

/// One worker, and no time for requests in progress at the end.
pub fn options(plan: Plan, settings: http::Settings) -> http::Options {
    http::Options {
        plan,
        model: Model::Uring,
        workers: vec![None],
        grace: Duration::ZERO,
        spin: Spinning::default(),
        settings,
        access_log: None,
    }
}

/// A plan with routes as in a file.
pub fn routes(text: &str) -> Plan {
    let directory = brunt_testkit::home();
    let file = directory.path().join("routes.toml");
    std::fs::write(&file, text).unwrap();
    http::read_routes(&file, &[address()], &http::CertCache::default()).unwrap()
}

/// A server that runs in the world of this thread.
pub struct Server {
    stop: CancellationToken,
    task: JoinHandle<Result<Counts, ServeError>>,
}

impl Server {
    /// Starts an HTTP server. It listens when this returns.
    pub async fn http(options: http::Options) -> Self {
        Self::start(async move |stop, notices| http::Server::new(options)?.run_in_world(&stop, &notices).await).await
    }

    /// Starts a TCP server.
    pub async fn tcp(options: brunt_serve::Options) -> Self {
        Self::start(async move |stop, notices| brunt_serve::tcp_in_world(&options, &stop, &notices).await).await
    }

    async fn start<F>(run: F) -> Self
    where
        F: AsyncFnOnce(CancellationToken, mpsc::Sender<Notice>) -> Result<Counts, ServeError> + 'static,
    {
        let (stop, (notices, heard)) = (CancellationToken::new(), mpsc::channel());
        let stopped = stop.clone();
        let task = spawn(async move { run(stopped, notices).await });
        // A server that fails ends without it.
        while !matches!(heard.try_recv(), Ok(Notice::Listening { .. }) | Err(TryRecvError::Disconnected)) {
            time::sleep(US).await;
        }
        Self { stop, task }
    }

    pub fn stop(&self) {
        self.stop.cancel();
    }

    /// When it ends, and its counts.
    pub async fn end(self) -> (Duration, Counts) {
        let counts = self.task.await.unwrap().unwrap();
        (clock(), counts)
    }
}

/// Runs a client against an HTTP server in the world of [`exact`]; the counts of the server, which is stopped when the client has
/// ended.
pub fn run<T>(options: http::Options, client: impl AsyncFnOnce() -> T) -> (T, Counts) {
    let serve = async || {
        let server = Server::http(options).await;
        let result = client().await;
        server.stop();
        (result, server.end().await.1)
    };
    exact(1).run(serve()).unwrap()
}
