//! Ends of connections: with and without `close_notify`, and within the handshake.

use crate::authority::{Authority, connected, transfer, whole};
use brunt_tls::{Acceptor, Cause, ClientOptions, Connector, Stream, TlsError, Transport};
use std::collections::VecDeque;
use std::io;
use std::task::{Context, Poll, Waker};

#[test]
fn the_peer_may_send_after_close_notify() {
    let authority = Authority::new();
    let (mut client_end, mut server_end) = connected(&authority.client(ClientOptions::default()), &authority.server());
    client_end.session.encrypt(b"the last", &mut client_end.out).unwrap();
    client_end.session.close_notify(&mut client_end.out);
    transfer(&mut client_end, &mut server_end, whole);
    assert!(server_end.session.is_closed_by_peer() && server_end.error.is_none() && server_end.received == b"the last");
    assert!(!client_end.session.is_closed_by_peer());
    server_end.session.encrypt(b"after it", &mut server_end.out).unwrap();
    server_end.session.close_notify(&mut server_end.out);
    transfer(&mut client_end, &mut server_end, whole);
    assert!(client_end.session.is_closed_by_peer() && client_end.received == b"after it");
    // Bytes after `close_notify` are ignored.
    server_end.take(b"whatever");
    assert!(server_end.error.is_none() && server_end.received == b"the last");
}

/// A transport in memory that takes at most `room` bytes, on every other call.
struct Pipe {
    incoming: VecDeque<Vec<u8>>,
    outgoing: Vec<u8>,
    room: usize,
    is_closed: bool,
    turns: usize,
}

impl Pipe {
    fn new(room: usize) -> Self {
        Self { incoming: VecDeque::new(), outgoing: Vec::new(), room, is_closed: false, turns: 0 }
    }
}

impl Transport for Pipe {
    type RecvBuf = Vec<u8>;

    fn poll_recv(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        match self.incoming.pop_front() {
            Some(bytes) => Poll::Ready(Ok(bytes)),
            None if self.is_closed => Poll::Ready(Ok(Vec::new())),
            None => Poll::Pending,
        }
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.turns += 1;
        if self.turns.is_multiple_of(2) {
            return Poll::Pending;
        }
        let taken = bytes.len().min(self.room);
        self.outgoing.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }
}

type Ends = (Stream<Pipe>, Stream<Pipe>);

fn ends(client: &Connector, server: &Acceptor, room: usize) -> Ends {
    (Stream::client(Pipe::new(room), client).unwrap(), Stream::server(Pipe::new(room), server).unwrap())
}

fn deliver((client, server): &mut Ends) {
    let bytes = std::mem::take(&mut client.transport_mut().outgoing);
    server.transport_mut().incoming.extend((!bytes.is_empty()).then_some(bytes));
    let bytes = std::mem::take(&mut server.transport_mut().outgoing);
    client.transport_mut().incoming.extend((!bytes.is_empty()).then_some(bytes));
}

fn handshake(ends: &mut Ends) {
    let mut cx = Context::from_waker(Waker::noop());
    let (mut client_end, mut server_end) = (false, false);
    for _ in 0..100_000 {
        client_end = client_end || matches!(ends.0.poll_handshake(&mut cx), Poll::Ready(Ok(())));
        server_end = server_end || matches!(ends.1.poll_handshake(&mut cx), Poll::Ready(Ok(())));
        deliver(ends);
        if client_end && server_end {
            return;
        }
    }
    panic!("no handshake");
}

#[test]
fn nothing_is_lost_on_a_transport_that_takes_little_at_a_time() {
    let authority = Authority::new();
    let (client, server) = (authority.client(ClientOptions::default()), authority.server());
    let text: Vec<u8> = (0..300_000u32).map(|number| (number % 253) as u8).collect();
    for room in [1000, 70_000] {
        let mut ends = ends(&client, &server, room);
        handshake(&mut ends);
        let mut cx = Context::from_waker(Waker::noop());
        let (mut sent, mut received) = (0, Vec::new());
        let mut closed = false;
        for _ in 0..100_000 {
            if sent < text.len() {
                if let Poll::Ready(taken) = ends.0.poll_write(&mut cx, &text[sent..]) {
                    sent += taken.unwrap();
                }
            } else {
                closed = closed || ends.0.poll_close_notify(&mut cx).is_ready();
            }
            deliver(&mut ends);
            match ends.1.poll_recv(&mut cx) {
                Poll::Ready(Ok(bytes)) if bytes.is_empty() => break,
                Poll::Ready(bytes) => received.extend(bytes.unwrap()),
                Poll::Pending => {}
            }
        }
        assert!(closed && received == text, "{} of {}", received.len(), text.len());
    }
}

#[test]
fn an_end_without_close_notify_is_an_error() {
    let authority = Authority::new();
    let (client, server) = (authority.client(ClientOptions::default()), authority.server());
    let mut ends = ends(&client, &server, 1 << 20);
    handshake(&mut ends);
    let mut cx = Context::from_waker(Waker::noop());
    let _ = ends.1.poll_write(&mut cx, b"half of it");
    let _ = ends.1.poll_flush_records(&mut cx);
    deliver(&mut ends);
    ends.0.transport_mut().is_closed = true;
    assert!(matches!(ends.0.poll_recv(&mut cx), Poll::Ready(Ok(bytes)) if bytes == b"half of it"));
    let Poll::Ready(Err(error)) = ends.0.poll_recv(&mut cx) else { panic!("an end") };
    assert_eq!(TlsError::of(&error).map(|error| error.cause), Some(Cause::UnexpectedEof));
}

#[test]
fn an_end_within_the_handshake_is_an_error() {
    let authority = Authority::new();
    let (mut client, mut server) = ends(&authority.client(ClientOptions::default()), &authority.server(), 1 << 20);
    let mut cx = Context::from_waker(Waker::noop());
    for end in [&mut client, &mut server] {
        end.transport_mut().is_closed = true;
        let Poll::Ready(Err(error)) = end.poll_handshake(&mut cx) else { panic!("an end") };
        assert_eq!(TlsError::of(&error).map(|error| error.cause), Some(Cause::NoTls));
    }
}
