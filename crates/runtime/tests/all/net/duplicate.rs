//! Sockets whose descriptor has a duplicate: closing one leaves the other, and no event reaches the runtime any more.

use crate::on_both_backends;
use brunt_runtime::net::{TcpListener, TcpStream};
use brunt_runtime::time::{sleep, timeout};
use std::io::{Read, Write};
use std::net;
use std::time::Duration;

on_both_backends!(a_duplicate_of_a_dropped_stream_works, a_duplicate_of_a_dropped_listener_works);

/// Turns of the event loop in 50 ms: thousands if it is woken by something that is never taken.
async fn turns() -> u64 {
    let before = brunt_runtime::metrics().turns;
    sleep(Duration::from_millis(50)).await;
    brunt_runtime::metrics().turns - before
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
        assert!(turns().await < 100);
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
        assert!(turns().await < 100);
        original.set_nonblocking(false).unwrap();
        original.accept().unwrap();
    }
}
