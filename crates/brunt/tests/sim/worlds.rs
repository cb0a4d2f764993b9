//! Worlds for loads and servers, and the run of a load against a server in one.

use brunt_load::{Direct, LoadError, Observer, Options, Report, Target, run_in_world};
use brunt_results::{latency::new_histogram, series::Second};
use brunt_runtime::sim::{Costs, Settings, World};
use brunt_runtime::{CancellationToken, time};
use brunt_serve::http::Server;
use brunt_serve::{Counts, Model, Notice, ServeError, Service, http};
use brunt_spec::Spread;
use hdrhistogram::Histogram;
use std::sync::mpsc::{self, Sender, TryRecvError};
use std::{net::SocketAddr, time::Duration};

pub const US: Duration = Duration::from_micros(1);
pub const MS: Duration = Duration::from_millis(1);
pub const SECOND: Duration = Duration::from_secs(1);
/// From sending a request until its reply, in the world of [`exact`]: two ways of 10 us, and a turn at each end, which sends when
/// it is over.
pub const WAY: Duration = Duration::from_micros(22);
/// Lag of a request of an open loop there: it is assigned to a connection in one turn and sent in the next.
pub const LAG: Duration = US;
/// From a connect until it is done: a way there and back, and a turn.
pub const HANDSHAKE: Duration = Duration::from_micros(21);
/// From sending the first request of a connection until its reply: it arrives in the turn in which the server accepts the connection,
/// whose task begins with the next one.
pub const FIRST: Duration = Duration::from_micros(23);
/// Requests of a thread after which its dispatcher has learnt that sleeps are exact.
const LEARNING: u32 = 2000;

pub fn address() -> SocketAddr {
    ([127, 0, 0, 1], 7000).into()
}

/// A world in which a turn of a worker takes a microsecond, a link ten, and nothing else takes time.
pub fn exact() -> World {
    let turn = Costs {
        turn: US,
        request: Duration::ZERO,
        completion: Duration::ZERO,
        poll: Duration::ZERO,
        clock: Duration::ZERO,
        wake: Duration::ZERO,
        spread: 0.0,
    };
    World::with_settings(1, Settings { costs: turn, ..Settings::default() })
}

/// A closed loop of one second over one connection.
pub fn options(target: Target) -> Options {
    Options { seed: 7, ..Options::new("sim".to_owned(), target) }
}

/// Connections of an open loop take requests in turn.
pub fn turns() -> Direct {
    Direct { spread: Some(Spread::Turns), ..Direct::default() }
}

/// An open loop of one second of that rate after its dispatchers have learnt.
pub fn open(target: Target, rate: f64, connections: usize, threads: usize) -> Options {
    let warmup = Duration::from_secs_f64(f64::from(LEARNING) * threads as f64 / rate);
    Options { rate: Some(rate), connections, threads: vec![None; threads], warmup, ..options(target) }
}

pub enum Serve {
    /// The TCP server with the model `uring`.
    Tcp(brunt_serve::Options),
    Http(http::Options),
}

impl Serve {
    /// An echo server with so many workers.
    pub fn echo(work: &str, workers: usize) -> Self {
        Self::Tcp(brunt_serve::Options {
            service: Service::Echo(work.parse().unwrap()),
            listen: vec![address().into()],
            model: Model::Uring.into(),
            workers: vec![None; workers],
            grace: SECOND,
            spin: Default::default(),
            pool: None,
            message: 0,
        })
    }

    pub fn http(plan: http::Plan, workers: usize) -> Self {
        Self::Http(http::Options {
            plan,
            model: Model::Uring,
            workers: vec![None; workers],
            grace: SECOND,
            spin: Default::default(),
            settings: http::Settings::default(),
            access_log: None,
        })
    }

    pub async fn run(self, stop: CancellationToken, notices: Sender<Notice>) -> Result<Counts, ServeError> {
        match self {
            Self::Tcp(options) => brunt_serve::tcp_in_world(&options, &stop, &notices).await,
            Self::Http(options) => Server::new(options)?.run_in_world(&stop, &notices).await,
        }
    }
}

/// What a run reports, the response times that its observer was told, and what the server counted.
pub struct Run {
    pub report: Report,
    /// Of the window's seconds.
    pub responses: Histogram<u64>,
    pub server: Counts,
}

struct Responses(Histogram<u64>);

impl Observer for Responses {
    fn recorded(&mut self, second: &Second, response: &Histogram<u64>) {
        if !second.warmup {
            self.0.add(response).unwrap();
        }
    }
}

/// Runs a load against a server, which is stopped after it.
pub fn run(world: &World, options: &Options, serve: Serve) -> Result<Run, LoadError> {
    let mut responses = Responses(new_histogram());
    let (report, server) = observed(world, options, serve, &mut responses)?;
    Ok(Run { report, responses: responses.0, server })
}

/// The same with an observer of the load; returns what the load reports and what the server counted.
pub fn observed(
    world: &World,
    options: &Options,
    serve: Serve,
    observer: &mut dyn Observer,
) -> Result<(Report, Counts), LoadError> {
    world
        .run(async {
            let (stop, (notices, heard)) = (CancellationToken::new(), mpsc::channel());
            let server = brunt_runtime::spawn(serve.run(stop.clone(), notices));
            // A server that fails ends without it.
            while !matches!(heard.try_recv(), Ok(Notice::Listening { .. }) | Err(TryRecvError::Disconnected)) {
                time::sleep(US).await;
            }
            let report = run_in_world(options, observer).await;
            stop.cancel();
            let server = server.await.unwrap().unwrap();
            report.map(|report| (report, server))
        })
        .unwrap()
}

/// The histogram of these times.
pub fn histogram(times: impl IntoIterator<Item = Duration>) -> Histogram<u64> {
    let mut histogram = new_histogram();
    times.into_iter().for_each(|time| histogram.record(time.as_nanos() as u64).unwrap());
    histogram
}

/// The histogram of one time, as often.
pub fn times(count: u64, time: Duration) -> Histogram<u64> {
    let mut histogram = new_histogram();
    histogram.record_n(time.as_nanos() as u64, count).unwrap();
    histogram
}

/// The values of a histogram with their counts.
pub fn values(histogram: &Histogram<u64>) -> Vec<(Duration, u64)> {
    let values = histogram.iter_recorded();
    values.map(|value| (Duration::from_nanos(value.value_iterated_to()), value.count_at_value())).collect()
}
