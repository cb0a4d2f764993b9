//! Streams that leave the runtime by `into_std`, or while a duplicate keeps their socket open.

use crate::on_both_backends;
use crate::shared::{listen, pair};
use brunt_runtime::net::{TcpStream, UnixListener, UnixStream};
use brunt_runtime::time::{sleep, timeout};
use socket2::SockRef;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::time::{Duration, Instant};

on_both_backends!(
    nothing_that_was_received_or_written_is_lost,
    a_stream_returns_after_a_write_that_was_given_up,
    a_duplicate_of_a_dropped_stream_is_not_watched,
    an_address_is_known_of_a_peer_that_has_reset,
    a_lingering_time_stops_no_worker,
    a_listener_leaves_with_its_file,
);

async fn nothing_that_was_received_or_written_is_lost() {
    let (mut client, mut server) = pair().await;
    let bytes: Vec<u8> = (0..200_000u32).map(|n| (n ^ (n >> 8)) as u8).collect();
    client.write_all(&bytes).await.unwrap();
    client.flush().await.unwrap();
    let mut got = vec![0; 5_000];
    server.read_exact(&mut got).await.unwrap();
    server.write_all(b"before").await.unwrap();
    let left = server.into_std().await.unwrap();
    got.extend_from_slice(&left.unread);
    let mut stream = left.stream;
    stream.set_nonblocking(false).unwrap();
    let mut rest = vec![0; bytes.len() - got.len()];
    stream.read_exact(&mut rest).unwrap();
    assert!([got, rest].concat() == bytes);
    stream.write_all(b" and after").unwrap();
    let mut heard = [0; 16];
    client.read_exact(&mut heard).await.unwrap();
    assert_eq!(&heard, b"before and after");
}

/// Writes until the peer, which does not read, takes no more.
async fn fill(stream: &mut TcpStream) -> usize {
    let mut written = 0;
    while let Ok(len) = timeout(Duration::from_millis(100), stream.write(&[7; 100_000])).await {
        written += len.unwrap();
    }
    written
}

/// Reads that many bytes, after which the socket of the peer can be written to again.
async fn empty(stream: &mut TcpStream, mut len: usize) {
    while len > 0 {
        len -= stream.recv().await.unwrap().len();
    }
}

/// Turns of the worker while nothing happens.
async fn idle_turns() -> u64 {
    let before = brunt_runtime::metrics().turns;
    sleep(Duration::from_millis(50)).await;
    brunt_runtime::metrics().turns - before
}

async fn a_stream_returns_after_a_write_that_was_given_up() {
    let (mut client, mut server) = pair().await;
    let written = fill(&mut server).await;
    empty(&mut client, written).await;
    let stream = server.into_std().await.unwrap().stream;
    assert!(idle_turns().await < 20);
    let mut server = TcpStream::from_std(stream).unwrap();
    client.write_all(b"again").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"again");
    server.write_all(b"yes").await.unwrap();
    assert_eq!(*client.recv().await.unwrap(), *b"yes");
}

async fn a_duplicate_of_a_dropped_stream_is_not_watched() {
    let (mut client, mut server) = pair().await;
    let written = fill(&mut server).await;
    let duplicate = server.as_fd().try_clone_to_owned().unwrap();
    drop(server);
    empty(&mut client, written).await;
    assert!(idle_turns().await < 20);
    let mut server = TcpStream::from_std(duplicate.into()).unwrap();
    client.write_all(b"still").await.unwrap();
    assert_eq!(*server.recv().await.unwrap(), *b"still");
}

/// A reset is under way for as long as the machine takes, so this repeats until one has arrived
/// before its connection is accepted.
async fn an_address_is_known_of_a_peer_that_has_reset() {
    let (listener, address) = listen();
    loop {
        let client = TcpStream::connect(address).await.unwrap();
        let from = client.local_addr().unwrap();
        client.set_linger_zero().unwrap();
        drop(client);
        sleep(Duration::from_millis(1)).await;
        let (mut server, accepted_from) = listener.accept_from().await.unwrap();
        assert_eq!(accepted_from, from);
        let has_reset = server.peer_addr().is_err();
        assert!(server.recv().await.is_err());
        if has_reset {
            return;
        }
    }
}

/// Much shorter than the time that was set, and much longer than closing takes.
const SOON: Duration = Duration::from_secs(20);

/// close(2) of such a socket waits until the peer has everything.
async fn a_lingering_time_stops_no_worker() {
    let (mut client, server) = pair().await;
    SockRef::from(&client).set_linger(Some(2 * SOON)).unwrap();
    client.write_all(&[7; 100_000]).await.unwrap();
    client.flush().await.unwrap();
    let start = Instant::now();
    drop(client);
    sleep(Duration::from_millis(1)).await;
    assert!(start.elapsed() < SOON);
    drop(server);
}

/// Of the standard library it is as reachable as it was before.
async fn a_listener_leaves_with_its_file() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap().into_std().unwrap();
    let mut client = UnixStream::connect(&path).await.unwrap();
    client.write_all(b"found").await.unwrap();
    client.flush().await.unwrap();
    let mut found = [0; 5];
    listener.accept().unwrap().0.read_exact(&mut found).unwrap();
    assert_eq!(&found, b"found");
}
