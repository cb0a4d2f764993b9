//! Targets with exactly known behaviour, on plain threads, and reference clients to compare the generator with.
#![allow(dead_code, reason = "each test program uses its part of what they share")]

pub mod notes;
pub mod servers;
pub mod sessions;
pub mod web;

use brunt_load::schedule::{Profile, Schedule, Share};
use brunt_load::{Arrival, Direct, Options, Report, Silent, Target};
use brunt_runtime::net::Address;
pub use brunt_testkit::{LIMIT, listener};
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as unix;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

pub const MS: Duration = Duration::from_millis(1);
/// Bytes of a message in most tests.
pub const SIZE: usize = 64;

/// A closed loop of one second over two connections.
pub fn options(address: impl Into<Address>) -> Options {
    let address = address.into();
    Options {
        url: format!("tcp://{address}"),
        target: Target::Echo { address, size: SIZE, reuse: None },
        connections: 2,
        threads: vec![None],
        group: None,
        duration: Duration::from_secs(1),
        warmup: Duration::ZERO,
        steady: false,
        requests: None,
        rate: None,
        arrival: Arrival::Constant,
        timeout: Duration::from_secs(10),
        connect_rate: None,
        sources: None,
        direct: Direct::default(),
        percentiles: Vec::new(),
        stages: Vec::new(),
        connection_stages: Vec::new(),
        replay: None,
        backend: None,
        counts: None,
        seed: 7,
    }
}

/// Runs a load and checks the invariants of every result.
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
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
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

/// Protocols of one request and one reply that the tests of faults, stalls and service times run over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Unix,
}

pub const PROTOCOLS: [Protocol; 2] = [Protocol::Tcp, Protocol::Unix];

/// A connection of a target, or of a reference client.
pub enum Peer {
    Tcp(TcpStream),
    Unix(unix::UnixStream),
}

impl Peer {
    pub fn connect(address: &Address) -> Self {
        match address {
            Address::Tcp(address) => {
                let stream = TcpStream::connect(address).unwrap();
                stream.set_nodelay(true).unwrap();
                Self::Tcp(stream)
            }
            Address::Unix(path) => {
                let name = path.to_str().unwrap().strip_prefix('\0').unwrap();
                let address = unix::SocketAddr::from_abstract_name(name).unwrap();
                Self::Unix(unix::UnixStream::connect_addr(&address).unwrap())
            }
        }
    }

    pub fn try_clone(&self) -> Self {
        match self {
            Self::Tcp(stream) => Self::Tcp(stream.try_clone().unwrap()),
            Self::Unix(stream) => Self::Unix(stream.try_clone().unwrap()),
        }
    }
}

impl Read for Peer {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.read(buffer),
            Self::Unix(stream) => stream.read(buffer),
        }
    }
}

impl Write for Peer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => stream.write(bytes),
            Self::Unix(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// As [`target`], in any protocol.
pub fn target_on(protocol: Protocol, serve: impl Fn(Peer) + Clone + Send + 'static) -> Address {
    match protocol {
        Protocol::Tcp => target(move |stream| serve(Peer::Tcp(stream))).into(),
        Protocol::Unix => {
            let (listener, address) = unix_listener();
            thread::spawn(move || {
                for stream in listener.incoming().flatten() {
                    let serve = serve.clone();
                    thread::spawn(move || serve(Peer::Unix(stream)));
                }
            });
            address
        }
    }
}

/// A listener on a free name of the abstract namespace.
pub fn unix_listener() -> (unix::UnixListener, Address) {
    static NEXT: AtomicU16 = AtomicU16::new(0);
    let name = format!("brunt-load-test-{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
    let address = unix::SocketAddr::from_abstract_name(&name).unwrap();
    (unix::UnixListener::bind_addr(&address).unwrap(), Address::Unix(format!("\0{name}").into()))
}

/// Sends back what arrives, piece by piece.
pub fn echo(mut stream: impl Read + Write) {
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
pub fn serial(protocol: Protocol, service: impl Fn(u64) -> Duration + Send + 'static) -> Address {
    let queue = serial_queue(service);
    target_on(protocol, move |mut stream| {
        let mut message = vec![0; SIZE];
        while stream.read_exact(&mut message).is_ok() {
            if queue.send((Instant::now(), message.clone(), stream.try_clone())).is_err() {
                return;
            }
        }
    })
}

/// As [`serial`], for requests that `read` takes from a connection and turns into their replies.
pub fn serial_of(
    service: impl Fn(u64) -> Duration + Send + 'static,
    read: impl Fn(&mut TcpStream) -> Option<Vec<u8>> + Clone + Send + 'static,
) -> SocketAddr {
    let queue = serial_queue(service);
    target(move |mut stream| {
        while let Some(message) = read(&mut stream) {
            let reply = Peer::Tcp(stream.try_clone().unwrap());
            if queue.send((Instant::now(), message, reply)).is_err() {
                return;
            }
        }
    })
}

fn serial_queue(service: impl Fn(u64) -> Duration + Send + 'static) -> mpsc::Sender<(Instant, Vec<u8>, Peer)> {
    let (queue, requests) = mpsc::channel::<(Instant, Vec<u8>, Peer)>();
    thread::spawn(move || {
        let mut free = Instant::now();
        for (number, (arrived, message, mut stream)) in requests.into_iter().enumerate() {
            free = free.max(arrived) + service(number as u64);
            thread::sleep(free.saturating_duration_since(Instant::now()));
            let _ = stream.write_all(&message);
        }
    });
    queue
}

/// Times of a reference client, in microseconds and sorted.
#[derive(Debug, Default)]
pub struct Control {
    pub response: Vec<f64>,
    pub service: Vec<f64>,
    pub lag: Vec<f64>,
    pub completed: u64,
}

/// A reference client with the schedule of `options`, on a serial target of its own: what this machine adds to theory at
/// this moment. With one connection it waits for each reply; with more it pipelines on one, since the queue is the same.
/// Requests without a reply at the end of the window have waited until then if `clips`.
pub fn control(options: &Options, address: &Address, clips: bool) -> thread::JoinHandle<Control> {
    let (arrivals, end) = (arrivals(options), options.duration);
    let (mut stream, waits) = (Peer::connect(address), options.connections == 1);
    thread::spawn(move || {
        let (begun, mut reader) = (Instant::now(), stream.try_clone());
        let (sender, sent) = mpsc::channel::<(Duration, Duration, Duration)>();
        let (done, completions) = mpsc::channel::<()>();
        let writer = {
            let arrivals = arrivals.clone();
            thread::spawn(move || {
                let mut free = Duration::ZERO;
                for intended in arrivals.into_iter().map(Duration::from_nanos) {
                    thread::sleep(intended.saturating_sub(begun.elapsed()));
                    let now = begun.elapsed();
                    if clips && now >= end {
                        return;
                    }
                    let _ = sender.send((intended, now, now - intended.max(free)));
                    let _ = stream.write_all(&[0; SIZE]);
                    if waits {
                        let _ = completions.recv();
                        free = begun.elapsed();
                    }
                }
            })
        };
        let (mut control, mut message) = (Control::default(), [0; SIZE]);
        let us = |time: Duration| time.as_secs_f64() * 1e6;
        for (intended, sent, lag) in sent {
            reader.read_exact(&mut message).unwrap();
            let now = begun.elapsed();
            let _ = done.send(());
            if clips && now > end {
                continue;
            }
            control.completed += 1;
            control.response.push(us(now - intended));
            control.service.push(us(now - sent));
            control.lag.push(us(lag));
        }
        writer.join().unwrap();
        let unanswered = arrivals.iter().skip(control.response.len());
        control.response.extend(unanswered.map(|intended| us(end.saturating_sub(Duration::from_nanos(*intended)))));
        for times in [&mut control.response, &mut control.service, &mut control.lag] {
            times.sort_unstable_by(f64::total_cmp);
        }
        control
    })
}

/// Intended times of the schedule of `options`, in nanoseconds and sorted.
fn arrivals(options: &Options) -> Vec<u64> {
    let end = options.duration.as_nanos() as u64;
    let mut arrivals: Vec<u64> = (0..options.threads.len())
        .flat_map(|thread| {
            let share = Share {
                thread,
                threads: options.threads.len(),
                connections: options.connections,
                group: options.threads.len(),
            };
            let mut schedule =
                Schedule::new(options.arrival, Profile::constant(options.rate.unwrap()), options.seed, share);
            std::iter::from_fn(move || (schedule.peek() < end).then(|| schedule.take()))
        })
        .collect();
    arrivals.sort_unstable();
    arrivals
}

/// Response times, in microseconds and sorted, of a serial target under the schedule of `options`: the Lindley recursion
/// on the very times that the generator uses.
pub fn lindley(options: &Options, service: impl Fn(u64) -> Duration) -> Vec<f64> {
    let arrivals = arrivals(options);
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

/// Repeats what a pause of the machine disturbed, with the same bounds; a wrong generator is wrong each time.
#[track_caller]
pub fn attempt(mut once: impl FnMut() -> Result<(), String>) {
    const ATTEMPTS: usize = 10;
    let mut failures = Vec::new();
    while let Err(failure) = once() {
        failures.push(failure);
        assert!(failures.len() < ATTEMPTS, "{failures:#?}");
    }
}
