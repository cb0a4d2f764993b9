//! Streams, listeners, buffers and handles that outlive their runtime or are used with another one: they return errors and
//! never touch the other runtime's objects.

use crate::shared::*;
use brunt_runtime::fs::File;
use brunt_runtime::net::{RecvBuf, TcpListener, TcpStream};
use brunt_runtime::time::timeout;
use brunt_runtime::{BackendKind, spawn};
use std::io::Write;
use std::os::fd::OwnedFd;
use std::time::Duration;
use std::{io::ErrorKind, net::Shutdown};

/// Objects that outlive their runtime.
struct Leftovers {
    stream: TcpStream,
    listener: TcpListener,
    received: RecvBuf,
    handle: brunt_runtime::JoinHandle<()>,
}

fn leftovers(backend: BackendKind) -> Leftovers {
    let runtime = build(backend);
    runtime.block_on(guarded(async {
        let (listener, address) = listen();
        let (mut client, mut server) = pair_at(&listener, address).await;
        client.write_all(b"old").await.unwrap();
        let received = server.recv().await.unwrap();
        Leftovers { stream: client, listener, received, handle: spawn(std::future::pending()) }
    }))
}

#[test]
fn leftover_streams_never_affect_the_next_runtime() {
    for backend in backends() {
        for order in 0..2 {
            let mut old = leftovers(backend);
            // The next runtime on this thread uses the same slots.
            let runtime = build(backend);
            runtime.block_on(guarded(async {
                let (listener, address) = listen();
                let (mut client, mut server) = pair_at(&listener, address).await;
                client.write_all(b"new").await.unwrap();
                let received = server.recv().await.unwrap();
                assert_eq!(old.stream.write_all(b"ghost").await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert_eq!(old.stream.recv().await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert_eq!(old.stream.flush().await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert_eq!(old.stream.shutdown(Shutdown::Both).await.unwrap_err().kind(), ErrorKind::NotConnected);
                // The sockets are their own.
                assert!(old.stream.peer_addr().is_ok());
                let accepted = old.listener.accept().await;
                assert_eq!(accepted.unwrap_err().kind(), ErrorKind::NotConnected);
                assert!(old.listener.local_addr().is_ok());
                assert_eq!(*old.received, *b"old");
                old.handle.abort();
                assert!((&mut old.handle).await.unwrap_err().is_aborted());
                if order == 0 {
                    let error = client.send(old.received).await.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
                } else {
                    drop(old.received);
                }
                drop((old.stream, old.listener));
                // The new runtime's objects are unaffected.
                assert_eq!(*received, *b"new");
                server.send(received).await.unwrap();
                assert_eq!(*client.recv().await.unwrap(), *b"new");
                for n in 0..600u32 {
                    // More rounds than initial buffers: a buffer returned twice would be detected.
                    client.write_all(&n.to_le_bytes()).await.unwrap();
                    let received = server.recv().await.unwrap();
                    assert_eq!(*received, n.to_le_bytes());
                    server.send(received).await.unwrap();
                    let mut answer = [0; 4];
                    client.read_exact(&mut answer).await.unwrap();
                    assert_eq!(answer, n.to_le_bytes());
                }
                let (_client, _server) = pair_at(&listener, address).await;
            }));
        }
    }
}

#[test]
fn a_listener_and_a_stream_belong_to_their_own_runtime() {
    for backend in backends() {
        let (first, second) = (build(backend), build(backend));
        let (theirs, their_address) = first.block_on(async { listen() });
        let (ours, our_address) = second.block_on(async { listen() });
        // Both use the first slot: a client of one listener must not be accepted by the other.
        let client = std::net::TcpStream::connect(our_address).unwrap();
        second.block_on(guarded(async {
            assert_eq!(theirs.local_addr().unwrap(), their_address);
            assert!(timeout(Duration::from_millis(30), theirs.accept()).await.is_err(), "an exchanged connection");
            let accepted = ours.accept().await.unwrap();
            assert_eq!(accepted.peer_addr().unwrap(), client.local_addr().unwrap());
        }));
    }
}

#[test]
fn runtimes_are_created_and_dropped_without_limit() {
    // Each kept relic retires a worker number; nothing else may run out.
    let mut kept = Vec::new();
    for n in 0..300 {
        let backend = nth_backend(n);
        if n % 3 == 0 {
            kept.push(leftovers(backend));
        } else {
            drop(leftovers(backend));
        }
    }
    assert!(kept.iter().all(|leftovers| *leftovers.received == *b"old"));
}

#[test]
fn a_file_operation_that_outlives_its_runtime_touches_no_other() {
    for backend in backends() {
        // A pipe that brings nothing: its read does not end by itself.
        let (reader, writer) = std::io::pipe().unwrap();
        let silent = File::from_std(std::fs::File::from(OwnedFd::from(reader)));
        let mut left = Box::pin(async move { silent.read_at(vec![0; 8], 0).await });
        let runtime = build(backend);
        assert!(runtime.block_on(async { futures_lite::future::poll_once(&mut left).await }).is_none());
        drop(runtime);
        let runtime = build(backend);
        runtime.block_on(guarded(async move {
            let file = File::open("/proc/self/exe").await.unwrap();
            let mut reads = Vec::new();
            for _ in 0..8 {
                let file = file.clone();
                reads.push(spawn(async move { file.read_exact_at(vec![0; 4], 0).await }));
            }
            drop(writer);
            let outlived = left.await;
            assert!(
                outlived.is_err_and(|error| error.kind() == ErrorKind::NotConnected) || backend == BackendKind::Epoll
            );
            for read in reads {
                assert_eq!(read.await.unwrap().unwrap(), b"\x7fELF");
            }
        }));
    }
}

/// The events of a stream come to its own runtime, which has to run for them.
#[test]
fn a_stream_awaited_in_another_runtime_waits_for_its_own() {
    for backend in backends() {
        let [own, other] = [(); 2].map(|()| build(backend));
        let (mut client, mut server) = own.block_on(guarded(async {
            let (listener, address) = listen();
            let client = std::net::TcpStream::connect(address).unwrap();
            (client, listener.accept().await.unwrap())
        }));
        let brief = Duration::from_millis(10);
        assert!(other.block_on(timeout(brief, server.recv())).is_err());
        client.write_all(b"late").unwrap();
        let mut waits = Box::pin(server.recv());
        assert!(other.block_on(timeout(brief, &mut waits)).is_err());
        assert_eq!(*own.block_on(guarded(waits)).unwrap(), *b"late");
    }
}
