//! What a stream does at the end of `block_on`, or after it, reaches the peer without another call.

use crate::shared::{LIMIT, backends, build};
use brunt_runtime::Runtime;
use brunt_runtime::net::{OwnedReadHalf, OwnedWriteHalf, TcpStream};
use std::io::{self, Read};
use std::net::{self, Ipv4Addr};

/// A stream of the runtime that waits for input, so that its receive is armed, and its peer.
fn connected(runtime: &Runtime) -> (TcpStream, net::TcpStream) {
    let listener = net::TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (stream, peer) = runtime.block_on(async {
        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (mut peer, _) = listener.accept().unwrap();
        io::Write::write_all(&mut peer, b"hello").unwrap();
        stream.read_exact(&mut [0; 5]).await.unwrap();
        (stream, peer)
    });
    peer.set_read_timeout(Some(LIMIT)).unwrap();
    (stream, peer)
}

/// All that the peer gets, up to the end.
fn heard(mut peer: &net::TcpStream) -> String {
    let mut text = String::new();
    peer.read_to_string(&mut text).expect("the peer gets no end");
    text
}

fn on_each(play: impl Fn(&Runtime, TcpStream, &net::TcpStream)) {
    for backend in backends() {
        let runtime = build(backend);
        let (stream, peer) = connected(&runtime);
        play(&runtime, stream, &peer);
        let left = runtime.block_on(async { brunt_runtime::metrics().connections });
        assert_eq!(left, 0, "{backend}");
    }
}

#[test]
fn a_stream_dropped_as_the_last_thing_is_closed() {
    on_each(|runtime, mut stream, peer| {
        runtime.block_on(async move {
            stream.write_all(b"last words").await.unwrap();
            drop(stream);
        });
        assert_eq!(heard(peer), "last words");
    });
}

#[test]
fn a_stream_dropped_after_block_on_is_closed() {
    on_each(|runtime, mut stream, peer| {
        runtime.block_on(stream.write_all(b"last words")).unwrap();
        drop(stream);
        assert_eq!(heard(peer), "last words");
    });
}

#[test]
fn a_stream_dropped_in_the_block_on_of_another_runtime_is_closed() {
    on_each(|_, stream, peer| {
        build(backends()[0]).block_on(async {
            drop(stream);
            assert_eq!(heard(peer), "");
        });
    });
}

fn writer(runtime: &Runtime, stream: TcpStream) -> (OwnedWriteHalf, OwnedReadHalf) {
    let (reader, mut writer) = stream.into_split();
    runtime.block_on(writer.write_all(b"last words")).unwrap();
    (writer, reader)
}

#[test]
fn the_write_half_ends_with_block_on_and_after_it() {
    on_each(|runtime, stream, peer| {
        let (writer, _reader) = writer(runtime, stream);
        runtime.block_on(async move { drop(writer) });
        assert_eq!(heard(peer), "last words");
    });
    on_each(|runtime, stream, peer| {
        let (writer, _reader) = writer(runtime, stream);
        drop(writer);
        assert_eq!(heard(peer), "last words");
    });
}
