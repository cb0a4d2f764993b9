//! Loads over TLS whose handshakes fail, and errors after the handshake.

use crate::targets::{Stream, never_answers, serve};
use crate::web::*;
use crate::worlds::{MS, address, exact, fails, run};
use brunt_load::{LoadError, Options, http::Http};
use brunt_results::RunResult;
use brunt_runtime::{net::RecvBuf, time};
use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Identity, Stream as TlsStream, Transport, Trust};
use std::cell::Cell;
use std::future::poll_fn;
use std::task::{Context, Poll};
use std::{io, rc::Rc};

/// Attempts of a connection that fails at once, in a second: after 1, 2, 4 ... 256 ms.
const ATTEMPTS: u64 = 10;

/// A stream of the runtime as a transport.
struct Plain(Stream);

impl Transport for Plain {
    type RecvBuf = RecvBuf;

    fn poll_recv(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<RecvBuf>> {
        self.0.poll_recv(cx)
    }

    fn poll_write(&mut self, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.0.poll_write(cx, bytes)
    }
}

/// The server side of a connection.
struct Peer(TlsStream<Plain>);

impl Peer {
    /// `None` if the handshake fails.
    async fn accept(stream: Stream, server: &Acceptor) -> Option<Self> {
        let mut peer = Self(TlsStream::server(Plain(stream), server).unwrap());
        poll_fn(|cx| peer.0.poll_handshake(cx)).await.ok()?;
        Some(peer)
    }

    async fn say(&mut self, text: &str) {
        let mut left = text.as_bytes();
        while !left.is_empty() {
            match poll_fn(|cx| self.0.poll_write(cx, left)).await {
                Ok(len) => left = &left[len..],
                Err(_) => return,
            }
        }
    }

    async fn close_notify(&mut self) {
        let _ = poll_fn(|cx| self.0.poll_close_notify(cx)).await;
    }

    /// Reads what comes until the end of a head; false without one.
    async fn ask(&mut self) -> bool {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match poll_fn(|cx| self.0.poll_recv(cx)).await {
                Ok(bytes) if !bytes.is_empty() => head.extend_from_slice(&bytes),
                _ => return false,
            }
        }
        true
    }

    async fn flush(&mut self) {
        let _ = self.0.transport_mut().0.flush().await;
    }
}

fn own() -> Acceptor {
    Acceptor::new(&Identity::self_signed(&["localhost".to_owned()]).unwrap(), None).unwrap()
}

fn insecure() -> ClientOptions {
    ClientOptions { trust: Trust::Insecure, ..ClientOptions::default() }
}

/// `GET /` over TLS, of a server with this name.
fn secret(asked: &ClientOptions, name: &str, reuse: Option<u64>) -> Http {
    let mut http = gets(1, reuse);
    http.hosts[0].tls = Some(ClientConfig::new(asked).unwrap().connector(name).unwrap());
    http
}

/// Runs a load over TLS, on connections for `reuse` requests, against a server that does `serve` after each handshake.
fn on_tls<F: Future<Output = ()> + 'static>(options: &Options, serve_peer: impl Fn(Peer) -> F + 'static) -> RunResult {
    let (server, serve_peer) = (own(), Rc::new(serve_peer));
    let target = serve(move |stream| {
        let (server, serve_peer) = (server.clone(), serve_peer.clone());
        async move {
            if let Some(peer) = Peer::accept(stream, &server).await {
                serve_peer(peer).await;
            }
        }
    });
    run(&exact(1), options, target).report.result
}

#[test]
fn a_reply_that_ends_with_its_connection_needs_close_notify() {
    let head = "HTTP/1.1 200 OK\r\n\r\nall of it";
    let http = secret(&insecure(), "localhost", None);
    let answer = move |is_told: bool| {
        move |mut peer: Peer| async move {
            if peer.ask().await {
                peer.say(head).await;
                if is_told {
                    peer.close_notify().await;
                }
                peer.flush().await;
            }
        }
    };
    let result = on_tls(&some(10, http.clone()), answer(true));
    assert_eq!((result.requests.completed, result.errors.total()), (10, 0), "{:?}", result.errors);
    // The same bytes; the rest may have been truncated by an attacker.
    let result = on_tls(&second(http), answer(false));
    assert_eq!((result.requests.completed, result.errors.total()), (0, 2 * ATTEMPTS));
    assert_eq!(result.errors.reset, 2 * ATTEMPTS);
}

#[test]
fn invalid_records_after_the_handshake_are_protocol_errors() {
    let http = secret(&insecure(), "localhost", None);
    let result = on_tls(&second(http), |mut peer: Peer| async move {
        if peer.ask().await {
            let plain = &mut peer.0.transport_mut().0;
            plain.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").await.unwrap();
            plain.flush().await.unwrap();
            time::sleep(50 * MS).await;
        }
    });
    assert_eq!((result.requests.completed, result.errors.total()), (0, 2 * ATTEMPTS));
    assert_eq!(result.errors.protocol, 2 * ATTEMPTS);
}

#[test]
fn later_failed_handshakes_are_connect_errors() {
    let (server, turns) = (own(), Rc::new(Cell::new(0)));
    let target = serve(move |stream| {
        let (server, turns) = (server.clone(), turns.clone());
        async move {
            // Six connections are served, each with one reply; the others are closed.
            if turns.replace(turns.get() + 1) >= 6 {
                return;
            }
            if let Some(mut peer) = Peer::accept(stream, &server).await
                && peer.ask().await
            {
                peer.say(&ok("hello")).await;
                peer.close_notify().await;
                peer.flush().await;
            }
        }
    });
    let options = second(secret(&insecure(), "localhost", Some(1)));
    let result = run(&exact(1), &options, target).report.result;
    // From then on each of the two connections fails.
    assert_eq!((result.requests.completed, result.errors.total()), (6, 2 * ATTEMPTS));
    assert_eq!((result.errors.connect, result.requests.failed), (2 * ATTEMPTS, 2 * ATTEMPTS));
    let handshakes = result.handshakes.unwrap();
    assert_eq!((handshakes.failed, handshakes.full + handshakes.resumed), (2 * ATTEMPTS, 6));
}

/// Why a load has no result: the target refuses the handshake in some way. Virtual time bounds it by the timeout.
fn refused(asked: &ClientOptions, name: &str, target: impl Future<Output = ()> + 'static) -> LoadError {
    let world = exact(1);
    let options = Options { timeout: 500 * MS, ..second(secret(asked, name, None)) };
    let error = fails(&world, &options, target);
    assert!(world.elapsed() < 510 * MS, "{:?}", world.elapsed());
    error
}

/// Answers each request.
async fn polite(server: Acceptor) {
    serve(move |stream| {
        let server = server.clone();
        async move {
            let Some(mut peer) = Peer::accept(stream, &server).await else { return };
            while peer.ask().await {
                peer.say(&ok("")).await;
                peer.flush().await;
            }
        }
    })
    .await;
}

#[test]
fn a_failed_handshake_ends_the_run_with_one_line() {
    let dir = brunt_testkit::home();
    let identity = Identity::self_signed(&["localhost".to_owned()]).unwrap();
    let trusted = dir.path().join("trusted.pem");
    std::fs::write(&trusted, identity.certificates_pem()).unwrap();
    let trusting = ClientOptions { trust: Trust::File(trusted.clone()), ..ClientOptions::default() };
    let (known, wants) = (Acceptor::new(&identity, None).unwrap(), Acceptor::new(&identity, Some(&trusted)).unwrap());
    let rude = serve(|mut stream: Stream| async move {
        let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        let _ = stream.flush().await;
    });
    let shy = serve(|mut stream: Stream| async move { drop(stream.recv().await) });
    let says = |error: LoadError, needles: [&str; 2]| {
        let text = error.to_string();
        assert!(text.contains(&address().to_string()) && !text.contains('\n'), "{text}");
        assert!(needles.iter().all(|needle| text.contains(needle)), "{text}");
    };
    says(refused(&trusting, "localhost", polite(own())), ["no trusted issuer", "--cacert"]);
    let other = refused(&trusting, "other.example", polite(known));
    says(other, ["for localhost and not for other.example", "--insecure"]);
    let certificate = refused(&trusting, "localhost", polite(wants));
    says(certificate, ["requires a client certificate", "--cert FILE"]);
    says(refused(&insecure(), "localhost", rude), ["no TLS", "http://"]);
    says(refused(&insecure(), "localhost", shy), ["closed the connection within", "http://"]);
    let silent = refused(&insecure(), "localhost", never_answers());
    says(silent, ["did not answer one TLS handshake within 500ms", "--timeout"]);
    // A server that waits for the end of a head does not answer half of one.
    let plain = web(0, Default::default(), |_| say("HTTP/1.1 400 Bad Request\r\n\r\n"));
    let error = refused(&insecure(), "localhost", plain);
    assert!(matches!(error, LoadError::NoHandshake(..)), "{error}");
}
