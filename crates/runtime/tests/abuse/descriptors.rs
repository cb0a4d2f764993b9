//! Descriptors of the wrong kind, and a process that has run out of them.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use std::fs::File;
use std::future::Future;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::pin::pin;
use std::task::{Context, Waker};
use std::time::Duration;

on_both_backends!(a_file_as_a_stream_is_an_error, a_socket_that_does_not_listen_is_an_error);

/// Epoll refuses regular files, and receives and sends need sockets: every call must complete, and the descriptor must be
/// closed.
async fn a_file_as_a_stream_is_an_error() {
    let fake = || {
        let file: OwnedFd = File::open("/proc/self/exe").unwrap().into();
        TcpStream::from_std(file.into()).unwrap()
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

async fn a_socket_that_does_not_listen_is_an_error() {
    let file: OwnedFd = File::open("/proc/self/exe").unwrap().into();
    let listener = TcpListener::from_std(file.into()).unwrap();
    assert!(listener.accept().await.is_err());
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
