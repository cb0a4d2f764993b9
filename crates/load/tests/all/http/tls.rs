//! Loads over TLS: counts of handshakes, and replies.

use crate::shared::{run, target, web::*};
use brunt_load::{Options, http::Http};
use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Identity, Stream, Transport, Trust, Version};
use std::future::poll_fn;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::task::{Context, Poll, Waker};

/// A blocking socket as a transport: waits instead of being pending.
struct Patient(TcpStream);

impl Transport for Patient {
    type RecvBuf = Vec<u8>;

    fn poll_recv(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        let mut buffer = vec![0; 20_000];
        Poll::Ready(self.0.read(&mut buffer).map(|len| {
            buffer.truncate(len);
            buffer
        }))
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Poll::Ready(self.0.write(bytes))
    }
}

/// The server side of a connection.
struct Peer(Stream<Patient>);

fn now<T>(mut future: impl Future<Output = T> + Unpin) -> T {
    match std::pin::Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a thread waits where it is"),
    }
}

impl Peer {
    fn say(&mut self, text: &str) -> bool {
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match now(poll_fn(|cx| self.0.poll_write(cx, left))) {
                Ok(len) => left = &left[len..],
                Err(_) => return false,
            }
        }
        true
    }

    /// Sends the last text and close_notify.
    fn say_last(&mut self, text: &str) -> bool {
        self.say(text);
        let _ = now(poll_fn(|cx| self.0.poll_close_notify(cx)));
        false
    }

    /// Reads to the end of a head; false without one.
    fn ask(&mut self, left: &mut Vec<u8>) -> bool {
        loop {
            if let Some(end) = left.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                left.drain(..end + 4);
                return true;
            }
            match now(poll_fn(|cx| self.0.poll_recv(cx))) {
                Ok(bytes) if !bytes.is_empty() => left.extend(bytes),
                _ => return false,
            }
        }
    }
}

/// A server over TLS that calls `answer` with the number of each request on its connection, until that returns false.
fn tls_web(
    server: &Acceptor,
    answer: impl Fn(&mut Peer, u64) -> bool + Clone + Send + 'static,
) -> (SocketAddr, Arc<AtomicU64>) {
    let (server, connections) = (server.clone(), Arc::<AtomicU64>::default());
    let counted = Arc::clone(&connections);
    let address = target(move |stream| {
        counted.fetch_add(1, Relaxed);
        let mut peer = Peer(Stream::server(Patient(stream), &server).unwrap());
        if now(poll_fn(|cx| peer.0.poll_handshake(cx))).is_err() {
            return;
        }
        let mut left = Vec::new();
        for number in 0.. {
            if !peer.ask(&mut left) || !answer(&mut peer, number) {
                return;
            }
        }
    });
    (address, connections)
}

fn own() -> Acceptor {
    Acceptor::new(&Identity::self_signed(&["localhost".to_owned()]).unwrap(), None).unwrap()
}

/// The same load over TLS.
fn over_tls(mut http: Http, asked: ClientOptions) -> Http {
    let clients = ClientConfig::new(&asked).unwrap();
    http.hosts.iter_mut().for_each(|host| host.tls = Some(clients.connector("localhost").unwrap()));
    http
}

fn insecure() -> ClientOptions {
    ClientOptions { trust: Trust::Insecure, ..ClientOptions::default() }
}

fn greedy(asked: ClientOptions, address: SocketAddr, reuse: Option<u64>) -> Http {
    over_tls(asks(address, &template(), &[goal("/", 1)], 1, reuse), asked)
}

#[test]
fn loads_of_every_shape_get_correct_replies() {
    let server = own();
    let (address, _) = tls_web(&server, |peer, _| peer.say(&ok("hello")));
    let targets = [goal("/", 1)];
    for http in [
        asks(address, &template(), &targets, 1, None),
        asks(address, &template(), &targets, 16, None),
        asks(address, &template(), &targets, 4, Some(8)),
    ] {
        let result = run(&some(200, over_tls(http, insecure()))).result;
        assert_eq!((result.requests.completed, result.errors.total()), (200, 0), "{:?}", result.errors);
        // Bytes of HTTP, not of TLS.
        assert_eq!(result.responses.as_ref().unwrap().body_bytes, Some(1000));
        let figures = brunt_results::figure::written(&result).figures;
        assert!(figures.values().all(Option::is_some), "{figures:?}");
        let handshakes = result.handshakes.unwrap();
        assert_eq!(handshakes.full + handshakes.resumed, result.connections.opened);
        assert_eq!((handshakes.time.count, handshakes.failed), (result.connections.opened, 0));
        assert!(handshakes.protocols.keys().all(|protocol| protocol.starts_with("TLS 1.3 ")), "{handshakes:?}");
    }
    let open = Options { rate: Some(400.0), ..some(100, over_tls(get(address), insecure())) };
    let result = run(&open).result;
    assert_eq!((result.requests.completed, result.errors.total()), (100, 0), "{:?}", result.errors);
}

#[test]
fn a_load_without_tls_has_no_handshakes() {
    let (address, _) = web(|stream, _| say(stream, &ok("hello")));
    assert_eq!(run(&some(10, get(address))).result.handshakes, None);
}

#[test]
fn later_connections_resume_sessions_unless_disabled() {
    for version in [Version::Tls12, Version::Tls13] {
        for disable_resumption in [false, true] {
            let (address, connections) = tls_web(&own(), |peer, _| peer.say_last(&ok("hello")));
            let asked = ClientOptions { version: Some(version), disable_resumption, ..insecure() };
            let result = run(&some(60, greedy(asked, address, Some(1)))).result;
            assert_eq!((result.requests.completed, result.errors.total()), (60, 0), "{:?}", result.errors);
            let handshakes = result.handshakes.unwrap();
            assert_eq!(once(result.connections.opened, || connections.load(Relaxed)), result.connections.opened);
            assert_eq!(handshakes.full + handshakes.resumed, result.connections.opened);
            match disable_resumption {
                true => assert_eq!(handshakes.resumed, 0, "{version:?}"),
                // The first ones are opened before there is a session to resume.
                false => assert!(handshakes.full <= 4 && handshakes.resumed >= 56, "{version:?}: {handshakes:?}"),
            }
        }
    }
}

#[test]
fn hosts_with_and_without_tls_can_be_mixed() {
    let (plain, _) = web(|stream, _| say(stream, &ok("plain")));
    let (secret, _) = tls_web(&own(), |peer, _| peer.say(&ok("secret")));
    let mut http = get(plain);
    http.hosts.extend(over_tls(get(secret), insecure()).hosts);
    let result = run(&some(200, http)).result;
    assert_eq!((result.requests.completed, result.errors.total()), (200, 0), "{:?}", result.errors);
    assert_eq!(result.handshakes.unwrap().full, 1);
}

#[test]
fn a_large_reply_is_complete() {
    let body = "x".repeat(3 << 20);
    let (address, _) = tls_web(&own(), move |peer, _| peer.say(&ok(&body)));
    let result = run(&some(5, greedy(insecure(), address, None))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (5, 0), "{:?}", result.errors);
    assert_eq!(result.responses.unwrap().body_bytes, Some(5 * (3 << 20)));
}

#[test]
fn a_close_between_requests_is_no_error() {
    let (address, _) = tls_web(&own(), |peer, number| match number {
        4 => peer.say_last("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok"),
        _ => peer.say(&ok("ok")),
    });
    let result = run(&some(100, greedy(insecure(), address, None))).result;
    assert_eq!((result.requests.completed, result.errors.total()), (100, 0), "{:?}", result.errors);
    assert!(result.connections.opened >= 20);
}
