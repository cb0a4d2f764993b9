//! Vectored writes, and options of streams.

use crate::{on_both_backends, shared::*};
use brunt_runtime::net::{Family, Stream, TcpStream, UnixStream};
use brunt_runtime::spawn;
use brunt_runtime::time::sleep;
use socket2::SockRef;
use std::io::{ErrorKind, IoSlice};
use std::time::Duration;

on_both_backends!(
    slices_arrive_in_order,
    empty_slices_write_nothing,
    slices_to_a_closed_peer_end_in_an_error,
    options_are_set,
);

async fn through<F: Family>(mut one: Stream<F>, mut other: Stream<F>) {
    // More slices and bytes than one send takes; the first slices and every third one are empty.
    let texts: Vec<Vec<u8>> = (0..5000).map(|n| vec![n as u8; if n % 3 == 0 { 0 } else { n % 97 }]).collect();
    let expected = texts.concat();
    let sending = spawn(async move {
        let mut pieces: Vec<_> = texts.iter().map(|text| IoSlice::new(text)).collect();
        one.write_all_vectored(&mut pieces).await.unwrap();
        let pieces = [IoSlice::new(b"the "), IoSlice::new(b"end")];
        assert_eq!(one.write_vectored(&pieces).await.unwrap(), 7);
        one
    });
    let mut got = vec![0; expected.len()];
    other.read_exact(&mut got).await.unwrap();
    assert!(got == expected);
    // One write, one send.
    assert_eq!(*other.recv().await.unwrap(), *b"the end");
    sending.await.unwrap();
}

async fn slices_arrive_in_order() {
    let (one, other) = pair().await;
    through(one, other).await;
    let (one, other) = UnixStream::pair().unwrap();
    through(one, other).await;
}

async fn empty_slices_write_nothing() {
    let (mut one, mut other) = pair().await;
    assert_eq!(one.write_vectored(&[]).await.unwrap(), 0);
    assert_eq!(one.write_vectored(&[IoSlice::new(b""); 3000]).await.unwrap(), 0);
    one.write_all_vectored(&mut [IoSlice::new(b""); 3]).await.unwrap();
    one.write_all(b"something").await.unwrap();
    assert_eq!(*other.recv().await.unwrap(), *b"something");
}

async fn slices_to_a_closed_peer_end_in_an_error() {
    let (one, mut other) = pair().await;
    one.set_linger_zero().unwrap();
    drop(one);
    // The guard around each test bounds the wait.
    while other.write_all_vectored(&mut [IoSlice::new(b"any"), IoSlice::new(b"body?")]).await.is_ok() {
        sleep(Duration::from_millis(1)).await;
    }
}

async fn options_are_set() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let socket = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
    let same = socket.try_clone().unwrap();
    let stream = TcpStream::from_std(socket).unwrap();
    let same = SockRef::from(&same);
    assert!(!same.keepalive().unwrap());
    stream.set_keepalive(Some(Duration::from_millis(4200))).unwrap();
    let seconds = (same.tcp_keepalive_time().unwrap(), same.tcp_keepalive_interval().unwrap());
    assert!(same.keepalive().unwrap() && seconds == (Duration::from_secs(5), Duration::from_secs(5)), "{seconds:?}");
    stream.set_keepalive(None).unwrap();
    assert!(!same.keepalive().unwrap());
    let error = stream.set_keepalive(Some(Duration::MAX)).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidInput && error.to_string().contains("32767"), "{error}");
    // The kernel doubles the size.
    stream.set_recv_buffer_size(50_000).unwrap();
    stream.set_send_buffer_size(60_000).unwrap();
    assert_eq!((stream.recv_buffer_size().unwrap(), stream.send_buffer_size().unwrap()), (100_000, 120_000));
    assert_eq!((same.recv_buffer_size().unwrap(), same.send_buffer_size().unwrap()), (100_000, 120_000));
}
