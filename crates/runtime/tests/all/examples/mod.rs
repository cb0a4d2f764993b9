//! The examples as a user runs them: started, used and stopped, on both backends.

mod services;

use brunt_testkit::{LIMIT, Running, Signal, uninterrupted, until};
use futures_lite::{AsyncReadExt, AsyncWriteExt};
use futures_rustls::TlsConnector;
use futures_rustls::rustls::pki_types::pem::PemObject;
use futures_rustls::rustls::pki_types::{CertificateDer, ServerName};
use futures_rustls::rustls::{ClientConfig, RootCertStore};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// The backends of this machine, as the examples' argument.
fn backends() -> Vec<&'static str> {
    let name = |backend| if backend == brunt_runtime::BackendKind::Uring { "uring" } else { "epoll" };
    crate::shared::backends().into_iter().map(name).collect()
}

/// A running example.
struct Example {
    process: Running,
    address: SocketAddr,
}

impl Example {
    fn start(name: &str, backend: &str) -> Self {
        Self::start_with(name, &["127.0.0.1:0", backend])
    }

    fn start_with(name: &str, arguments: &[&str]) -> Self {
        let mut process = Running::start(program(name).args(arguments).stdout(Stdio::piped()));
        let address = process.line_after("listening on ");
        Self { process, address: address.parse().unwrap_or_else(|_| panic!("'{address}' is no address")) }
    }

    fn connect(&self) -> TcpStream {
        connect(self.address)
    }
}

fn program(name: &str) -> Command {
    // Cargo puts examples beside the folder of test programs, and builds them with a plain `cargo test`.
    let me = std::env::current_exe().unwrap();
    let path = me.parent().and_then(|deps| deps.parent()).unwrap().join("examples").join(name);
    assert!(path.exists(), "no {}: build it by cargo test -p brunt-runtime --examples", path.display());
    Command::new(path)
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn expect(stream: &mut TcpStream, expected: &[u8]) {
    let mut got = vec![0; expected.len()];
    stream.read_exact(&mut got).unwrap();
    assert_eq!(String::from_utf8_lossy(&got), String::from_utf8_lossy(expected));
}

fn expect_end(stream: &mut TcpStream) {
    assert_eq!(stream.read_to_end(&mut Vec::new()).unwrap(), 0);
}

fn ask(stream: &mut TcpStream, question: &[u8]) {
    stream.write_all(question).unwrap();
    expect(stream, question);
}

#[test]
fn echo() {
    for backend in backends() {
        let server = Example::start("echo", backend);
        let (mut one, mut other) = (server.connect(), server.connect());
        ask(&mut one, b"hello");
        ask(&mut other, &[7; 100_000]);
        one.shutdown(Shutdown::Write).unwrap();
        expect_end(&mut one);
        ask(&mut other, b"still served");
    }
}

#[test]
fn a_bad_address_is_named() {
    let server = Example::start("echo", "epoll");
    let me = std::fs::read_link(format!("/proc/{}/exe", server.process.pid())).unwrap();
    let output = Command::new(me).arg("nowhere").output().unwrap();
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && text.contains("'nowhere' is not an address"), "{text}");
}

#[test]
fn costs() {
    for backend in backends() {
        let output = Running::start(program("costs").args([backend, "1"]).stdout(Stdio::piped())).output();
        let table = String::from_utf8(output.stdout).unwrap();
        let figures = table.lines().skip(2).map(|line| line.rsplit(" | ").next().unwrap());
        let figures: Vec<u64> = figures.map(|figure| figure.trim_end_matches(" ns |").parse().unwrap()).collect();
        assert!(output.status.success() && figures.len() == 12, "{table}");
    }
}

#[test]
fn lines() {
    for backend in backends() {
        let server = Example::start("lines", backend);
        let mut stream = server.connect();
        stream.write_all(b"127.0.0.1:80 [::1]:443\nnothing\n127.0.0.1 127.0.0.1:1\n").unwrap();
        expect(&mut stream, b"127.0.0.1:80 [::1]:443\ntwo hosts are wanted: HOST:PORT HOST:PORT\n");
        expect(&mut stream, b"'127.0.0.1': the port is missing; write HOST:PORT, as in localhost:80 127.0.0.1:1\n");
    }
}

#[test]
fn tokio_beside() {
    for backend in backends() {
        let upstream = Example::start("echo", backend);
        let server = Example::start_with("tokio_beside", &["127.0.0.1:0", backend, &upstream.address.to_string()]);
        let mut stream = server.connect();
        ask(&mut stream, b"over there and back\n");
        drop(upstream);
        stream.write_all(b"again\n").unwrap();
        expect(&mut stream, b"no answer: ");
    }
}

#[test]
fn echo_timeout() {
    for backend in backends() {
        let server = Example::start("echo_timeout", backend);
        let mut stream = server.connect();
        ask(&mut stream, b"hello");
        expect(&mut stream, b"still there?\n");
        stream.write_all(b"yes\n").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        // On a busy machine our answer may be late, and it is asked again.
        let (before, after) = rest.split_once("yes\n").unwrap();
        assert!(before.replace("still there?\n", "").is_empty(), "{rest}");
        assert_eq!(after, "still there?\n".repeat(3) + "goodbye\n");
    }
}

#[test]
fn graceful_shutdown() {
    for backend in backends() {
        let mut server = Example::start("graceful_shutdown", backend);
        let (mut busy, mut idle) = (server.connect(), server.connect());
        ask(&mut idle, b"hello");
        ask(&mut busy, b"hello");
        busy.write_all(&[7; 50_000]).unwrap();
        // On its way back, and not lost though the server ends before it is read.
        until("the reply is there", || busy.peek(&mut [0; 50_000]).is_ok_and(|length| length == 50_000));
        server.process.signal(Signal::TERM);
        expect_end(&mut idle);
        expect(&mut busy, &[7; 50_000]);
        expect_end(&mut busy);
        assert!(server.process.end().success());
    }
}

/// The answer to a request that keeps the connection.
fn get(stream: &mut TcpStream, path: &str) {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n").as_bytes()).unwrap();
}

fn expect_hello(stream: &mut TcpStream) {
    let (mut answer, mut byte) = (Vec::new(), [0]);
    while !answer.ends_with(b"\r\n\r\nhello\n") {
        stream.read_exact(&mut byte).unwrap();
        answer.push(byte[0]);
    }
    let text = String::from_utf8(answer).unwrap();
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.contains("content-length: 6\r\n"), "{text}");
}

#[test]
fn hyper_server() {
    for backend in backends() {
        let mut server = Example::start("hyper_server", backend);
        let (mut busy, mut idle) = (server.connect(), server.connect());
        for _ in 0..50 {
            get(&mut idle, "/");
            expect_hello(&mut idle);
        }
        // In one piece: when the first is answered, the server has the second.
        let both = ["/", "/slow"].map(|path| format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n"));
        busy.write_all(both.concat().as_bytes()).unwrap();
        expect_hello(&mut busy);
        thread::sleep(Duration::from_millis(300));
        server.process.signal(Signal::TERM);
        expect_end(&mut idle);
        // Asked before the end, so it is answered, and that is the last answer.
        expect_hello(&mut busy);
        expect_end(&mut busy);
        assert!(server.process.end().success());
    }
}

#[test]
fn channel_across_cores() {
    const CLIENTS: u64 = 4;
    const LINES: u64 = 200;
    for backend in backends() {
        let server = Example::start("channel_across_cores", backend);
        let address = server.address;
        let drawn: Vec<Vec<u64>> = thread::scope(|scope| {
            let client = || {
                let mut stream = connect(address);
                stream.write_all("draw\n".repeat(LINES as usize).as_bytes()).unwrap();
                stream.shutdown(Shutdown::Write).unwrap();
                let numbers = BufReader::new(stream).lines().map(|line| line.unwrap().parse().unwrap());
                numbers.collect()
            };
            let clients: Vec<_> = (0..CLIENTS).map(|_| scope.spawn(client)).collect();
            clients.into_iter().map(|client| client.join().unwrap()).collect()
        });
        assert!(drawn.iter().all(|numbers| numbers.is_sorted()), "{drawn:?}");
        let mut all = drawn.concat();
        all.sort_unstable();
        assert_eq!(all, (1..=CLIENTS * LINES).collect::<Vec<_>>());
    }
}

#[test]
fn select_semaphore() {
    for backend in backends() {
        let server = Example::start("select_semaphore", backend);
        let mut clients: Vec<_> = (0..4).map(|_| server.connect()).collect();
        clients.iter_mut().for_each(|client| ask(client, b"hello"));
        // The fifth client waits for a permit.
        let mut fifth = server.connect();
        fifth.write_all(b"hello").unwrap();
        fifth.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        assert!(uninterrupted(|| fifth.read(&mut [0; 8])).is_err());
        fifth.set_read_timeout(Some(LIMIT)).unwrap();
        drop(clients.pop());
        expect(&mut fifth, b"hello");
        clients[0].write_all(b"quit\n").unwrap();
        for client in clients.iter_mut().chain([&mut fifth]) {
            expect(client, b"goodbye\n");
            expect_end(client);
        }
    }
}

#[test]
fn remote_spawn() {
    for backend in backends() {
        let server = Example::start("remote_spawn", backend);
        for turn in 0..6 {
            let mut client = server.connect();
            expect(&mut client, format!("worker {}\n", turn % 2).as_bytes());
            ask(&mut client, b"hello");
        }
    }
}

#[test]
fn tls_echo() {
    let certificate = CertificateDer::from_pem_slice(include_bytes!("../../../examples/localhost.pem")).unwrap();
    let mut trusted = RootCertStore::empty();
    trusted.add(certificate).unwrap();
    let config = ClientConfig::builder().with_root_certificates(trusted).with_no_client_auth();
    let connector = TlsConnector::from(Arc::new(config));
    for backend in backends() {
        let server = Example::start("tls_echo", backend);
        // A client that does not speak TLS is disconnected and does not affect others.
        let mut plain = server.connect();
        plain.write_all(b"GET / HTTP/1.0\r\n\r\n").unwrap();
        plain.read_to_end(&mut Vec::new()).unwrap();
        let talk = async {
            let stream = brunt_runtime::net::TcpStream::connect(server.address).await.unwrap();
            let name = ServerName::try_from("localhost").unwrap();
            let mut stream = connector.connect(name, stream).await.unwrap();
            for len in [1, 4096, 60_000] {
                let sent: Vec<u8> = (0..len).map(|i| i as u8).collect();
                let mut got = vec![0; len];
                stream.write_all(&sent).await.unwrap();
                stream.flush().await.unwrap();
                stream.read_exact(&mut got).await.unwrap();
                assert!(got == sent, "{len} bytes");
            }
            stream.close().await.unwrap();
            assert_eq!(stream.read(&mut [0; 8]).await.unwrap(), 0);
        };
        let runtime = brunt_runtime::Runtime::new().unwrap();
        runtime.block_on(brunt_runtime::time::timeout(LIMIT, talk)).expect("it hangs");
    }
}
