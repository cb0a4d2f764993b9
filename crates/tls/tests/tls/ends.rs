//! Ends: announced, cut, and in the middle.

use crate::scene::{Scene, carry, met, whole};
use brunt_tls::{Acceptor, Cause, ClientOptions, Connector, Stream, TlsError, Transport};
use std::{
    collections::VecDeque,
    io,
    task::{Context, Poll, Waker},
};

#[test]
fn an_end_that_is_announced_is_one_and_the_other_side_may_still_speak() {
    let scene = Scene::new();
    let (mut one, mut other) = met(&scene.client(ClientOptions::default()), &scene.server());
    one.session.encrypt(b"the last", &mut one.out).unwrap();
    one.session.close_notify(&mut one.out);
    carry(&mut one, &mut other, whole);
    assert!(other.session.is_closed_by_peer() && other.fault.is_none() && other.heard == b"the last");
    assert!(!one.session.is_closed_by_peer());
    other.session.encrypt(b"after it", &mut other.out).unwrap();
    other.session.close_notify(&mut other.out);
    carry(&mut one, &mut other, whole);
    assert!(one.session.is_closed_by_peer() && one.heard == b"after it");
    // Bytes behind the end are nobody's.
    other.take(b"whatever");
    assert!(other.fault.is_none() && other.heard == b"the last");
}

/// Bytes on their way: takes a few at a time, and now and then none.
struct Pipe {
    arriving: VecDeque<Vec<u8>>,
    leaving: Vec<u8>,
    room: usize,
    is_over: bool,
    turns: usize,
}

impl Pipe {
    fn new(room: usize) -> Self {
        Self { arriving: VecDeque::new(), leaving: Vec::new(), room, is_over: false, turns: 0 }
    }
}

impl Transport for Pipe {
    type RecvBuf = Vec<u8>;

    fn poll_recv(&mut self, _: &mut Context<'_>) -> Poll<io::Result<Vec<u8>>> {
        match self.arriving.pop_front() {
            Some(bytes) => Poll::Ready(Ok(bytes)),
            None if self.is_over => Poll::Ready(Ok(Vec::new())),
            None => Poll::Pending,
        }
    }

    fn poll_write(&mut self, _: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.turns += 1;
        if self.turns.is_multiple_of(2) {
            return Poll::Pending;
        }
        let taken = bytes.len().min(self.room);
        self.leaving.extend_from_slice(&bytes[..taken]);
        Poll::Ready(Ok(taken))
    }
}

type Ends = (Stream<Pipe>, Stream<Pipe>);

fn ends(client: &Connector, server: &Acceptor, room: usize) -> Ends {
    (Stream::client(Pipe::new(room), client).unwrap(), Stream::server(Pipe::new(room), server).unwrap())
}

fn exchange((client, server): &mut Ends) {
    let said = std::mem::take(&mut client.transport_mut().leaving);
    server.transport_mut().arriving.extend((!said.is_empty()).then_some(said));
    let said = std::mem::take(&mut server.transport_mut().leaving);
    client.transport_mut().arriving.extend((!said.is_empty()).then_some(said));
}

fn greet(ends: &mut Ends) {
    let mut cx = Context::from_waker(Waker::noop());
    let (mut one, mut other) = (false, false);
    for _ in 0..100_000 {
        one = one || matches!(ends.0.poll_handshake(&mut cx), Poll::Ready(Ok(())));
        other = other || matches!(ends.1.poll_handshake(&mut cx), Poll::Ready(Ok(())));
        exchange(ends);
        if one && other {
            return;
        }
    }
    panic!("no handshake");
}

#[test]
fn nothing_is_lost_where_little_fits_at_a_time() {
    let scene = Scene::new();
    let (client, server) = (scene.client(ClientOptions::default()), scene.server());
    let text: Vec<u8> = (0..300_000u32).map(|number| (number % 253) as u8).collect();
    for room in [1000, 70_000] {
        let mut ends = ends(&client, &server, room);
        greet(&mut ends);
        let mut cx = Context::from_waker(Waker::noop());
        let (mut sent, mut heard) = (0, Vec::new());
        let mut closed = false;
        for _ in 0..100_000 {
            if sent < text.len() {
                if let Poll::Ready(taken) = ends.0.poll_write(&mut cx, &text[sent..]) {
                    sent += taken.unwrap();
                }
            } else {
                closed = closed || ends.0.poll_close_notify(&mut cx).is_ready();
            }
            exchange(&mut ends);
            match ends.1.poll_recv(&mut cx) {
                Poll::Ready(Ok(bytes)) if bytes.is_empty() => break,
                Poll::Ready(bytes) => heard.extend(bytes.unwrap()),
                Poll::Pending => {}
            }
        }
        assert!(closed && heard == text, "{} of {}", heard.len(), text.len());
    }
}

#[test]
fn an_end_that_nobody_announced_is_a_fault() {
    let scene = Scene::new();
    let (client, server) = (scene.client(ClientOptions::default()), scene.server());
    let mut ends = ends(&client, &server, 1 << 20);
    greet(&mut ends);
    let mut cx = Context::from_waker(Waker::noop());
    let _ = ends.1.poll_write(&mut cx, b"half of it");
    let _ = ends.1.poll_flush_records(&mut cx);
    exchange(&mut ends);
    ends.0.transport_mut().is_over = true;
    assert!(matches!(ends.0.poll_recv(&mut cx), Poll::Ready(Ok(bytes)) if bytes == b"half of it"));
    let Poll::Ready(Err(error)) = ends.0.poll_recv(&mut cx) else { panic!("an end") };
    assert_eq!(TlsError::of(&error).map(|fault| fault.cause), Some(Cause::UnexpectedEof));
}

#[test]
fn an_end_within_the_handshake_is_a_fault() {
    let scene = Scene::new();
    let (mut client, mut server) = ends(&scene.client(ClientOptions::default()), &scene.server(), 1 << 20);
    let mut cx = Context::from_waker(Waker::noop());
    for end in [&mut client, &mut server] {
        end.transport_mut().is_over = true;
        let Poll::Ready(Err(error)) = end.poll_handshake(&mut cx) else { panic!("an end") };
        assert_eq!(TlsError::of(&error).map(|fault| fault.cause), Some(Cause::NoTls));
    }
}
