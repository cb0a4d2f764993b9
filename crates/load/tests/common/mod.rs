//! Targets that do one thing exactly, on plain threads, and what they should lead to.
#![allow(dead_code, reason = "each test binary uses its own part")]

use brunt_load::{Arrival, Options, Report, Silent, Target, schedule::Schedule, schedule::Share};
use std::{
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    sync::{
        Mutex, MutexGuard,
        atomic::{AtomicU16, Ordering::Relaxed},
        mpsc,
    },
    thread,
    time::{Duration, Instant},
};

pub const MS: Duration = Duration::from_millis(1);
/// What takes longer than this, on however busy a machine, is not slow but stuck.
pub const PATIENCE: Duration = Duration::from_secs(20);
/// Bytes of a message in most tests.
pub const SIZE: usize = 64;

/// Tests that measure time take turns: on two cores each would be the other's noise.
pub fn alone() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// A listener below the ephemeral ports, where no client of another test can sit by chance.
pub fn listener() -> TcpListener {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let base = 20_000 + (std::process::id() % 97) as u16 * 100;
    loop {
        let port = base + NEXT.fetch_add(1, Relaxed) % 2000;
        if let Ok(listener) = TcpListener::bind(("127.0.0.1", port)) {
            return listener;
        }
    }
}

/// A closed loop of one second over two connections; tests change what they are about.
pub fn options(address: SocketAddr) -> Options {
    Options {
        url: format!("tcp://{address}"),
        target: Target::Echo { endpoint: address.into(), size: SIZE },
        connections: 2,
        threads: vec![None],
        duration: Duration::from_secs(1),
        warmup: Duration::ZERO,
        requests: None,
        rate: None,
        arrival: Arrival::Constant,
        timeout: Duration::from_secs(10),
        connect_rate: None,
        sources: None,
        verify: true,
        seed: 7,
    }
}

/// Runs a load and checks what must hold for every result.
pub fn run(options: &Options) -> Report {
    let report = brunt_load::run(options, &mut Silent).unwrap_or_else(|error| panic!("{error}"));
    let result = &report.result;
    let sum =
        |f: fn(&brunt_results::series::Second) -> u64| report.seconds.iter().filter(|s| !s.warmup).map(f).sum::<u64>();
    assert_eq!(sum(|s| s.completed), result.requests.completed, "the series adds up");
    assert_eq!(sum(|s| s.failed), result.requests.failed, "the series adds up");
    assert_eq!(result.latency.service.count > 0, result.requests.completed > 0);
    assert_eq!(report.saturated, 0);
    result_is_consistent(options, &report);
    report
}

fn result_is_consistent(options: &Options, report: &Report) {
    let result = &report.result;
    let rate = result.requests.completed as f64 / result.load.measured_s;
    assert!((result.requests.rate / rate - 1.0).abs() < 1e-9 || rate == 0.0);
    assert_eq!(result.generator.thread_cpu_percent.len(), options.threads.len());
    assert!(result.generator.cpu_percent.unwrap() > 0.0);
    assert!(result.load.measured_s <= options.duration.as_secs_f64() + 1e-9);
}

/// Calls `serve` with each connection, on a thread of its own.
pub fn target(serve: impl Fn(TcpStream) + Clone + Send + 'static) -> SocketAddr {
    let listener = listener();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            stream.set_nodelay(true).unwrap();
            let serve = serve.clone();
            thread::spawn(move || serve(stream));
        }
    });
    address
}

/// Sends back what arrives, piece by piece.
pub fn echo(mut stream: TcpStream) {
    let mut buffer = vec![0; 64 << 10];
    while let Ok(len @ 1..) = stream.read(&mut buffer) {
        if stream.write_all(&buffer[..len]).is_err() {
            return;
        }
    }
}

/// Serves all connections one request at a time in order of arrival, the n-th for `service(n)`.
///
/// A request ends at `max(end of the one before, its arrival) + service`, whatever this thread's sleeps do in between:
/// a late wake-up delays one reply and no other, so the queue is Lindley's.
pub fn serial(service: impl Fn(u64) -> Duration + Send + 'static) -> SocketAddr {
    serial_of(service, |stream| {
        let mut message = vec![0; SIZE];
        stream.read_exact(&mut message).ok().map(|()| message)
    })
}

/// As [`serial`], for requests that `read` takes from a connection and turns into their replies.
pub fn serial_of(
    service: impl Fn(u64) -> Duration + Send + 'static,
    read: impl Fn(&mut TcpStream) -> Option<Vec<u8>> + Clone + Send + 'static,
) -> SocketAddr {
    let (queue, requests) = mpsc::channel::<(Instant, Vec<u8>, TcpStream)>();
    thread::spawn(move || {
        let mut free = Instant::now();
        for (number, (arrived, message, mut stream)) in requests.into_iter().enumerate() {
            free = free.max(arrived) + service(number as u64);
            thread::sleep(free.saturating_duration_since(Instant::now()));
            let _ = stream.write_all(&message);
        }
    });
    target(move |mut stream| {
        while let Some(message) = read(&mut stream) {
            let reply = stream.try_clone().unwrap();
            if queue.send((Instant::now(), message, reply)).is_err() {
                return;
            }
        }
    })
}

/// Response times, in microseconds and sorted, of a serial target under the schedule of `options`: the Lindley recursion
/// on the very times that the generator uses.
pub fn lindley(options: &Options, service: impl Fn(u64) -> Duration) -> Vec<f64> {
    let end = options.duration.as_nanos() as u64;
    let mut arrivals: Vec<u64> = (0..options.threads.len())
        .flat_map(|thread| {
            let share = Share { thread, threads: options.threads.len(), connections: options.connections };
            let mut schedule = Schedule::new(options.arrival, options.rate.unwrap(), options.seed, share);
            std::iter::from_fn(move || (schedule.peek() < end).then(|| schedule.take()))
        })
        .collect();
    arrivals.sort_unstable();
    let mut free = 0;
    let mut responses: Vec<f64> = arrivals
        .iter()
        .enumerate()
        .map(|(number, &arrival)| {
            free = free.max(arrival) + service(number as u64).as_nanos() as u64;
            (free - arrival) as f64 / 1e3
        })
        .collect();
    responses.sort_unstable_by(f64::total_cmp);
    responses
}

/// The value below or at which a share `q` of the sorted values lies.
pub fn quantile(sorted: &[f64], q: f64) -> f64 {
    sorted[((q * sorted.len() as f64).ceil() as usize).clamp(1, sorted.len()) - 1]
}
