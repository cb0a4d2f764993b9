//! Streams, listeners, leases and handles that outlive their runtime, or are used with another one: they fail politely and
//! never touch what belongs to somebody else.

use crate::common::*;
use brunt_runtime::{
    BackendKind,
    net::{RecvBuf, TcpListener, TcpStream},
    spawn,
    time::timeout,
};
use std::{io::ErrorKind, net::Shutdown, time::Duration};

/// What is left of a runtime that has ended.
struct Relics {
    stream: TcpStream,
    listener: TcpListener,
    lease: RecvBuf,
    handle: brunt_runtime::JoinHandle<()>,
}

fn relics(backend: BackendKind) -> Relics {
    let runtime = build(backend);
    runtime.block_on(guarded(async {
        let (listener, address) = listen();
        let (mut client, mut server) = pair_at(&listener, address).await;
        client.write_all(b"old").await.unwrap();
        let lease = server.recv().await.unwrap();
        Relics { stream: client, listener, lease, handle: spawn(std::future::pending()) }
    }))
}

#[test]
fn relics_never_touch_the_next_runtime() {
    for backend in BACKENDS {
        for order in 0..2 {
            let mut old = relics(backend);
            // The next runtime on this thread has its own things in the very same slots.
            let runtime = build(backend);
            runtime.block_on(guarded(async {
                let (listener, address) = listen();
                let (mut client, mut server) = pair_at(&listener, address).await;
                client.write_all(b"new").await.unwrap();
                let lease = server.recv().await.unwrap();
                assert_eq!(old.stream.write_all(b"ghost").await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert_eq!(old.stream.recv().await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert_eq!(old.stream.flush().await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert_eq!(old.stream.shutdown(Shutdown::Both).await.unwrap_err().kind(), ErrorKind::NotConnected);
                assert!(old.stream.peer_addr().is_err());
                let accepted = timeout(PATIENCE / 4, old.listener.accept()).await.expect("it would wait for ever");
                assert_eq!(accepted.unwrap_err().kind(), ErrorKind::NotConnected);
                assert!(old.listener.local_addr().is_err());
                assert_eq!(*old.lease, *b"old");
                old.handle.abort();
                assert!((&mut old.handle).await.unwrap_err().is_aborted());
                if order == 0 {
                    let error = client.send(old.lease).await.unwrap_err();
                    assert_eq!(error.kind(), ErrorKind::InvalidInput, "{error}");
                } else {
                    drop(old.lease);
                }
                drop((old.stream, old.listener));
                // Nothing of the new one has suffered.
                assert_eq!(*lease, *b"new");
                server.send(lease).await.unwrap();
                assert_eq!(*client.recv().await.unwrap(), *b"new");
                for n in 0..600u32 {
                    // More rounds than buffers at first: one that was given back twice would show.
                    client.write_all(&n.to_le_bytes()).await.unwrap();
                    let lease = server.recv().await.unwrap();
                    assert_eq!(*lease, n.to_le_bytes());
                    server.send(lease).await.unwrap();
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
    for backend in BACKENDS {
        let (first, second) = (build(backend), build(backend));
        let (theirs, their_address) = first.block_on(async { listen() });
        let (ours, our_address) = second.block_on(async { listen() });
        // Both stand in the first slot. A client of ours must never come out of theirs.
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
fn runtimes_come_and_go_for_ever() {
    // Kept relics cost a number each, and nothing else may run out.
    let mut kept = Vec::new();
    for n in 0..300 {
        let backend = BACKENDS[n % 2];
        if n % 3 == 0 {
            kept.push(relics(backend));
        } else {
            drop(relics(backend));
        }
    }
    assert!(kept.iter().all(|relics| *relics.lease == *b"old"));
}
