//! Sockets whose descriptor has a duplicate: closing one leaves the other, and no event reaches the runtime any more.

use crate::on_both_backends;
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use std::io::{Read, Write};
use std::net;
use std::time::Duration;

on_both_backends!(a_duplicate_of_a_dropped_stream_works, a_duplicate_of_a_dropped_listener_works);

/// Events in fifty turns at least: as many if something is reported that is never taken.
async fn events() -> u64 {
    let before = brunt_runtime::metrics().events;
    for _ in 0..50 {
        sleep(Duration::from_micros(1)).await;
    }
    brunt_runtime::metrics().events - before
}

async fn a_duplicate_of_a_dropped_stream_works() {
    let listener = net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut client = net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let (mut server, _) = listener.accept().unwrap();
    for piece in [b"first", b"again"] {
        let mut stream = TcpStream::from_std(server.try_clone().unwrap()).unwrap();
        assert!(timeout(Duration::from_millis(5), stream.recv()).await.is_err());
        drop(stream);
        sleep(Duration::from_millis(1)).await;
        client.write_all(piece).unwrap();
        assert!(events().await < 10);
        server.set_nonblocking(false).unwrap();
        let mut received = [0; 5];
        server.read_exact(&mut received).unwrap();
        assert_eq!(received, *piece);
    }
}

async fn a_duplicate_of_a_dropped_listener_works() {
    let original = net::TcpListener::bind("127.0.0.1:0").unwrap();
    for _ in 0..2 {
        let listener = TcpListener::from_std(original.try_clone().unwrap()).unwrap();
        assert!(timeout(Duration::from_millis(5), listener.accept()).await.is_err());
        drop(listener);
        sleep(Duration::from_millis(1)).await;
        let _client = net::TcpStream::connect(original.local_addr().unwrap()).unwrap();
        assert!(events().await < 10);
        original.set_nonblocking(false).unwrap();
        original.accept().unwrap();
    }
}
