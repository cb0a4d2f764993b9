//! Targets with known behaviour on plain threads.
#![allow(dead_code, reason = "each test program uses its part of what they share")]

pub mod web;

use brunt_load::{Options, Report, Silent, Target};
use brunt_runtime::net::Address;
pub use brunt_testkit::LIMIT;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net as unix;
use std::sync::atomic::AtomicU16;
use std::sync::atomic::Ordering::Relaxed;
use std::thread;
use std::time::Duration;

pub const MS: Duration = Duration::from_millis(1);
/// Bytes of a message in most tests.
pub const SIZE: usize = 64;

/// A closed loop of one second over two connections.
pub fn options(address: impl Into<Address>) -> Options {
    let address = address.into();
    let url = format!("tcp://{address}");
    Options { connections: 2, seed: 7, ..Options::new(url, Target::Echo { address, size: SIZE, reuse: None }) }
}

/// Runs a load and checks the invariants of every result.
pub fn run(options: &Options) -> Report {
    let report = brunt_load::run(options, &mut Silent).unwrap_or_else(|error| panic!("{error}"));
    let result = &report.result;
    let sum =
        |f: fn(&brunt_results::series::Second) -> u64| report.seconds.iter().filter(|s| !s.warmup).map(f).sum::<u64>();
    assert_eq!(sum(|s| s.completed), result.requests.completed, "the series adds up");
    // Without those of the warm-up, and with those that are lost after the window.
    assert!(!options.warmup.is_zero() || sum(|s| s.failed) <= result.requests.failed, "the series adds up");
    assert_eq!(result.latency.service.count > 0, result.requests.completed > 0);
    assert_eq!(report.saturated, 0);
    result_is_consistent(options, &report);
    report
}

pub fn result_is_consistent(options: &Options, report: &Report) {
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

/// Families of sockets of an echo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Unix,
}

pub const PROTOCOLS: [Protocol; 2] = [Protocol::Tcp, Protocol::Unix];

/// A connection of a target.
pub enum Peer {
    Tcp(TcpStream),
    Unix(unix::UnixStream),
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
