//! Web servers with exactly known behaviour, on plain threads, and the requests they got.

use brunt_load::http::{Expect, Http, Pipeline, Rendered, RequestTarget, Requests, Template};
use brunt_load::{Options, Target};
use brunt_testkit::read_head;
use std::io::{BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// A received request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Request {
    /// The head without its empty line.
    pub head: String,
    pub body: Vec<u8>,
    /// Its number on its connection, from 0.
    pub number: u64,
}

impl Request {
    pub fn target(&self) -> &str {
        self.head.split(' ').nth(1).unwrap_or_default()
    }
}

/// Requests and connections of a server.
#[derive(Debug, Default)]
pub struct Seen {
    pub connections: AtomicU64,
    pub requests: AtomicU64,
    /// The first thousand.
    pub log: Mutex<Vec<Request>>,
}

impl Seen {
    pub fn connections(&self) -> u64 {
        self.connections.load(Relaxed)
    }

    pub fn requests(&self) -> u64 {
        self.requests.load(Relaxed)
    }

    /// Waits for a number of connections: the last ones may be accepted after the load.
    pub fn connections_of(&self, opened: u64) -> u64 {
        once(opened, || self.connections())
    }
}

/// A count once it has reached a number, or after [`super::LIMIT`].
pub fn once(high: u64, count: impl Fn() -> u64) -> u64 {
    let until = Instant::now() + super::LIMIT;
    while count() < high && Instant::now() < until {
        thread::sleep(Duration::from_millis(5));
    }
    count()
}

/// A server that calls `answer` with each request and its connection, and closes when that returns false.
pub fn web(answer: impl Fn(&mut TcpStream, &Request) -> bool + Clone + Send + 'static) -> (SocketAddr, Arc<Seen>) {
    let seen = Arc::<Seen>::default();
    let log = Arc::clone(&seen);
    let address = super::target(move |stream| {
        log.connections.fetch_add(1, Relaxed);
        let mut out = stream.try_clone().unwrap();
        let mut input = BufReader::new(stream);
        for number in 0.. {
            let Some(request) = read(&mut input, number) else { return };
            if log.requests.fetch_add(1, Relaxed) < 1000 {
                log.log.lock().unwrap().push(request.clone());
            }
            if !answer(&mut out, &request) {
                return;
            }
        }
    });
    (address, seen)
}

fn read(input: &mut BufReader<TcpStream>, number: u64) -> Option<Request> {
    let mut head = read_head(input)?;
    head.truncate(head.len() - 4);
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    input.read_exact(&mut body).ok()?;
    Some(Request { head, body, number })
}

/// Sends text; the connection may be closed.
pub fn say(stream: &mut TcpStream, text: &str) -> bool {
    stream.write_all(text.as_bytes()).is_ok()
}

/// As [`say`], then closes.
pub fn say_last(stream: &mut TcpStream, text: &str) -> bool {
    say(stream, text);
    false
}

/// A correct reply.
pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len())
}

/// `GET /` in HTTP/1.1.
pub fn template() -> Template {
    Template { method: "GET".to_owned(), fields: Vec::new(), body: None, http10: false }
}

pub fn goal(target: &str, weight: u32) -> RequestTarget {
    RequestTarget { host: "h".to_owned(), target: target.to_owned(), weight, name: 0, authorization: None }
}

/// A load of one template and several targets, in batches.
pub fn asks(
    address: SocketAddr,
    template: &Template,
    targets: &[RequestTarget],
    batch: u32,
    reuse: Option<u64>,
) -> Http {
    let rendered = Rendered::render(template, targets, None, Pipeline::Batches(batch), reuse).unwrap();
    Http::on(address, Requests::Rendered(Arc::new(rendered)), reuse, Expect::default())
}

/// `GET /`, one at a time, on kept connections.
pub fn get(address: SocketAddr) -> Http {
    asks(address, &template(), &[goal("/", 1)], 1, None)
}

/// A closed loop of 0.4 s over two connections.
pub fn short(http: Http) -> Options {
    let url = format!("http://{}/", http.hosts[0].address);
    let duration = Duration::from_millis(400);
    Options { connections: 2, duration, seed: 7, ..Options::new(url, Target::Http(http)) }
}

/// As [`short`], for a number of requests, without a limit of time.
pub fn some(requests: u64, http: Http) -> Options {
    Options { requests: Some(requests), duration: Duration::from_secs(600), ..short(http) }
}
