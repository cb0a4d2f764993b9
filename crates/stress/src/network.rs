//! `network`: TCP streams, one a thread, to a sink on another host, to one in this process, or the sink itself.

use crate::dose::WorkTime;
use crate::error::{StressError, failed, usage};
use crate::resource::{Figure, Other, Resource, Worker};
use crate::sink::{READ, Sink};
use crate::stop::Stop;
use brunt_results::Size;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

#[derive(Debug)]
pub struct Options {
    pub peer: Peer,
    /// Bytes of one write.
    pub write: u64,
}

#[derive(Debug)]
pub enum Peer {
    /// A sink in this process, by way of the loopback interface.
    Own,
    /// A server that discards what it receives: host and port.
    Connect(String),
    /// This process is the sink, on this address.
    Listen(String),
}

const PATIENCE: Duration = Duration::from_secs(5);

/// Longest time that a write may block before the thread looks at the stop.
const LONGEST_WRITE: Duration = Duration::from_millis(100);

const MOST_WRITTEN: u64 = 16 << 20;

pub(crate) struct Network {
    write: usize,
    end: End,
}

enum End {
    Own,
    Connect { name: String, addresses: Vec<SocketAddr> },
    Listen(TcpListener),
}

impl Network {
    pub(crate) fn new(options: &Options) -> Result<Self, StressError> {
        if !(1..=MOST_WRITTEN).contains(&options.write) {
            return usage(format!("--size {}: it must be from 1B to {}", Size(options.write), Size(MOST_WRITTEN)));
        }
        let end = match &options.peer {
            Peer::Own => End::Own,
            Peer::Connect(name) => End::Connect { name: name.clone(), addresses: resolve("--connect", name)? },
            Peer::Listen(name) => End::Listen(listen(name)?),
        };
        Ok(Self { write: options.write as usize, end })
    }
}

fn resolve(flag: &str, name: &str) -> Result<Vec<SocketAddr>, StressError> {
    match name.to_socket_addrs().map(Vec::from_iter) {
        Ok(addresses) if !addresses.is_empty() => Ok(addresses),
        Ok(_) => usage(format!("{flag} {name}: the name has no address")),
        Err(error) => usage(format!("{flag} {name}: {error}; write host and port, such as 10.0.0.2:5001")),
    }
}

fn listen(name: &str) -> Result<TcpListener, StressError> {
    let addresses = resolve("--listen", name)?;
    let listener = TcpListener::bind(&*addresses).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener
        .or_else(|error| failed(format!("--listen {name}: {error}; choose an address of this host and a free port")))
}

impl Resource for Network {
    fn figure(&self) -> Figure {
        let other = if matches!(self.end, End::Own) { Other::Received } else { Other::Nothing };
        Figure { resource: "network", unit: "bytes", other, work_time: WorkTime::Wall }
    }

    fn notice(&self) -> Option<String> {
        match &self.end {
            End::Listen(listener) => Some(format!("sink on {}", listener.local_addr().ok()?)),
            _ => None,
        }
    }

    fn worker(&self, _: usize, _: &Stop) -> Result<Box<dyn Worker + '_>, StressError> {
        let mut own_sink = None;
        let stream = match &self.end {
            End::Listen(listener) => return Ok(Box::new(Sink::new(listener))),
            End::Connect { name, addresses } => connect(name, addresses)?,
            End::Own => {
                let (stream, sink) = OwnSink::start().or_else(|error| {
                    failed(format!("no TCP connection over the loopback interface: {error}; choose fewer --threads"))
                })?;
                own_sink = Some(sink);
                stream
            }
        };
        let prepared = stream.set_nodelay(true).and_then(|()| stream.set_write_timeout(Some(LONGEST_WRITE)));
        prepared.or_else(|error| failed(format!("cannot configure a TCP connection: {error}")))?;
        Ok(Box::new(Sender { stream, block: vec![0x5a; self.write], own_sink }))
    }
}

/// Connects to the first address that answers.
fn connect(name: &str, addresses: &[SocketAddr]) -> Result<TcpStream, StressError> {
    let mut last = None;
    for address in addresses {
        match TcpStream::connect_timeout(address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = Some(error),
        }
    }
    let why = last.map_or("it has no address".to_owned(), |error| error.to_string());
    failed(format!("cannot connect to {name}: {why}; start a sink there: brunt stress network --listen {name}"))
}

struct Sender {
    stream: TcpStream,
    block: Vec<u8>,
    own_sink: Option<OwnSink>,
}

impl Worker for Sender {
    fn step(&mut self) -> Result<u64, StressError> {
        match self.stream.write(&self.block) {
            Ok(bytes) => Ok(bytes as u64),
            Err(error)
                if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted) =>
            {
                Ok(0)
            }
            Err(error) => failed(format!("the sink closed the connection: {error}; it must accept data until the end")),
        }
    }

    fn other(&self) -> u64 {
        self.own_sink.as_ref().map_or(0, |sink| sink.received.load(Ordering::Relaxed))
    }

    /// Waits until the sink in this process has read what was sent.
    fn finish(&mut self) -> Result<u64, StressError> {
        let closed = self.stream.shutdown(std::net::Shutdown::Write);
        if let Some(thread) = self.own_sink.as_mut().and_then(|sink| sink.thread.take()).filter(|_| closed.is_ok()) {
            // It does not panic.
            let _ = thread.join();
        }
        Ok(0)
    }
}

/// The receiving end of one connection, a thread on the cores of the sender.
struct OwnSink {
    received: Arc<AtomicU64>,
    thread: Option<JoinHandle<()>>,
}

impl OwnSink {
    /// The sending end, and the sink, whose thread ends with the connection.
    fn start() -> std::io::Result<(TcpStream, Self)> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let sender = TcpStream::connect_timeout(&listener.local_addr()?, PATIENCE)?;
        let local = sender.local_addr()?;
        let mut accepted = listener.accept()?;
        // Any process of the host may connect first.
        while accepted.1 != local {
            accepted = listener.accept()?;
        }
        let (mut stream, received) = (accepted.0, Arc::new(AtomicU64::new(0)));
        let sum = received.clone();
        let mut block = vec![0; READ];
        let thread = thread::Builder::new().name("stress-sink".to_owned()).spawn(move || {
            loop {
                match stream.read(&mut block) {
                    Ok(bytes @ 1..) => _ = sum.fetch_add(bytes as u64, Ordering::Relaxed),
                    Err(error) if error.kind() == ErrorKind::Interrupted => (),
                    Ok(0) | Err(_) => break,
                }
            }
        })?;
        Ok((sender, Self { received, thread: Some(thread) }))
    }
}
