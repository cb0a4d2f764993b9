//! Descriptors of the wrong kind, and a process that has run out of them.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::{Any, Listener, Stream, TcpListener, TcpStream, UnixListener, UnixStream};
use brunt_runtime::time::{sleep, timeout};
use socket2::{Domain, Socket, Type};
use std::fs::File;
use std::future::Future;
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::SocketAddr;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

on_both_backends!(a_descriptor_of_another_kind_is_refused, a_stream_that_is_not_connected_is_an_error);

/// What listens is no stream, a stream does not listen, and a file is neither.
async fn a_descriptor_of_another_kind_is_refused() {
    let file = || OwnedFd::from(File::open("/proc/self/exe").unwrap());
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    // One of each test: those of both backends run at once.
    let name = format!("brunt-{}-{:?}", std::process::id(), std::thread::current().id());
    let unix = std::os::unix::net::UnixListener::bind_addr(&SocketAddr::from_abstract_name(name).unwrap()).unwrap();
    let listeners = || [OwnedFd::from(tcp.try_clone().unwrap()), OwnedFd::from(unix.try_clone().unwrap())];
    let of_streams = || {
        let (one, other) = std::os::unix::net::UnixStream::pair().unwrap();
        let client = std::net::TcpStream::connect(tcp.local_addr().unwrap()).unwrap();
        [OwnedFd::from(one), other.into(), client.into()]
    };
    let refused = |result: io::Result<()>, why: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.to_string().as_str()), (io::ErrorKind::InvalidInput, why));
    };
    let no_socket = "the descriptor is not that of a socket";
    refused(TcpStream::from_std(file().into()).map(drop), no_socket);
    refused(UnixStream::from_std(file().into()).map(drop), no_socket);
    refused(Stream::<Any>::from_std(file()).map(drop), no_socket);
    refused(TcpListener::from_std(file().into()).map(drop), no_socket);
    for listener in listeners() {
        let why = "a listening socket is adopted as a listener, not as a stream";
        refused(TcpStream::from_std(listener.try_clone().unwrap().into()).map(drop), why);
        refused(UnixStream::from_std(listener.try_clone().unwrap().into()).map(drop), why);
        refused(Stream::<Any>::from_std(listener).map(drop), why);
    }
    for stream in of_streams() {
        let why = "a socket that does not listen is not adopted as a listener; call listen(2) before";
        refused(TcpListener::from_std(stream.try_clone().unwrap().into()).map(drop), why);
        refused(UnixListener::from_std(stream.try_clone().unwrap().into()).map(drop), why);
        refused(Listener::<Any>::from_std(stream).map(drop), why);
    }
    assert_eq!(brunt_runtime::metrics().connections, 0);
}

/// Every call must complete, and the descriptor must be closed.
async fn a_stream_that_is_not_connected_is_an_error() {
    let fake = || {
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        TcpStream::from_std(socket.into()).unwrap()
    };
    let mut stream = fake();
    assert!(stream.recv().await.is_err());
    assert!(stream.read(&mut [0; 8]).await.is_err());
    drop(stream);
    let mut stream = fake();
    let mut failed = false;
    for _ in 0..3 {
        failed |= stream.write_all(b"x").await.and(stream.flush().await).is_err();
    }
    assert!(failed);
    drop((stream, fake()));
    while brunt_runtime::metrics().connections > 0 {
        sleep(Duration::from_millis(1)).await;
    }
}

#[test]
fn accepting_pauses_without_descriptors_and_resumes() {
    in_own_process("descriptors::accepting_pauses_without_descriptors_and_resumes", || {
        for backend in backends() {
            on(backend, async {
                let (listener, address) = listen();
                let mut clients: Vec<_> = (0..20).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
                // All remaining descriptors of the process, which are few.
                limit_files(1000);
                let mut hoard = Vec::new();
                while let Ok(file) = File::open("/dev/null") {
                    hoard.push(file);
                }
                // How long a pause is, a test in the simulated world shows.
                while brunt_runtime::metrics().accept_pauses == 0 {
                    assert!(timeout(Duration::from_millis(10), listener.accept()).await.is_err());
                }
                hoard.truncate(hoard.len() - 20);
                for _ in 0..clients.len() {
                    let mut served = listener.accept().await.unwrap();
                    served.write_all(b"welcome").await.unwrap();
                    served.flush().await.unwrap();
                }
                drop(hoard);
                let mut word = [0; 7];
                clients.iter_mut().for_each(|client| client.read_exact(&mut word).unwrap());
                assert_eq!(&word, b"welcome");
            });
        }
    });
}

/// Polls a future once, outside any task.
fn begin<T>(future: impl Future<Output = T>) {
    let polled = pin!(future).poll(&mut Context::from_waker(Waker::noop()));
    assert!(polled.is_pending());
}

#[test]
fn a_listener_dropped_while_connections_arrive_leaks_none() {
    in_own_process("descriptors::a_listener_dropped_while_connections_arrive_leaks_none", || {
        for backend in backends() {
            on(backend, async {
                let before = open_descriptors();
                for n in 0..100u64 {
                    let (listener, address) = listen();
                    assert!(timeout(Duration::from_micros(n), listener.accept()).await.is_err());
                    // Accepted by the kernel, with completions not taken before the listener is dropped.
                    let clients: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(address).unwrap()).collect();
                    match n % 10 {
                        // More requests than the ring holds: submits, without taking completions.
                        0 => drop((0..600).map(|_| begin(TcpStream::connect(address))).collect::<Vec<_>>()),
                        1..6 => sleep(Duration::from_micros(n)).await,
                        _ => (),
                    }
                    drop(listener);
                    drop(clients);
                }
                // Cancelled requests end some turns later; the guard around each test bounds the wait.
                while open_descriptors() > before {
                    sleep(Duration::from_millis(1)).await;
                }
            });
        }
    });
}
