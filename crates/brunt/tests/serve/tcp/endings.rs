//! SIGTERM and SIGINT: stop accepting, let clients finish, close, exit 0, in time.

use crate::shared::server::*;
use brunt_testkit::{signal, until};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::process::ExitStatusExt;
use std::thread;
use std::time::{Duration, Instant};

#[test]
fn idle_clients_are_closed_at_the_end_of_the_grace_period() {
    for model in models() {
        for signal in [Signal::TERM, Signal::INT] {
            let server = Server::of_model(model, "--grace 50ms");
            let mut clients: Vec<_> = (0..20).map(|_| connect(server.address())).collect();
            clients.iter_mut().for_each(|client| ask(client, b"hello"));
            server.signal(signal);
            let (status, _, said) = server.end();
            assert_eq!(status.code(), Some(0), "{model}, {signal:?}: {said}");
            assert!(
                said.contains("20 connections served, 0 failed, 20 closed at the end of the grace period"),
                "{model}: {said}"
            );
            // Each connection ends with a FIN.
            clients.iter_mut().for_each(|client| assert_eq!(read(client, &mut [0]), 0, "{model}"));
        }
    }
}

#[test]
fn without_clients_the_end_comes_at_once() {
    for model in models() {
        let server = Server::of_model(model, "--grace 10m");
        drop(connect(server.address()));
        server.signal(Signal::TERM);
        // It does not wait for the grace period, before whose end it would count as hung.
        let (status, _, said) = server.end();
        assert!(status.success(), "{model}: {status}, {said}");
    }
}

#[test]
fn a_message_in_progress_is_echoed_completely() {
    for model in models() {
        let server = Server::of_model(model, "--grace 10m");
        let mut client = connect(server.address());
        // The echo shows that the connection is accepted: closing the listener resets those in its queue.
        ask(&mut client, b"hello");
        let message = pattern(4 << 20);
        let mut reader = client.try_clone().unwrap();
        let reader = thread::spawn(move || {
            let mut all = vec![0; 4 << 20];
            reader.read_exact(&mut all).map(|()| all)
        });
        client.write_all(&message[..1 << 20]).unwrap();
        server.signal(Signal::TERM);
        // The rest arrives in pieces, the last well after the signal was handled.
        for piece in message[1 << 20..].chunks(1 << 20) {
            thread::sleep(Duration::from_millis(60));
            client.write_all(piece).unwrap();
        }
        let all = reader.join().unwrap().unwrap_or_else(|error| panic!("{model}: {error}"));
        assert!(all == message, "{model}");
        drop(client);
        // The server exits when the last client closes: before the grace period ends it would count as hung.
        let (status, _, said) = server.end();
        assert!(status.success(), "{model}: {said}");
        assert!(
            said.contains("1 connections served, 0 failed, 0 closed at the end of the grace period"),
            "{model}: {said}"
        );
    }
}

#[test]
fn messages_before_the_close_are_echoed() {
    for model in models() {
        let server = Server::of_model(model, "--grace 200ms");
        let mut client = connect(server.address());
        ask(&mut client, b"hello");
        let (mut sent, mut got) = (0u64, 0u64);
        // Echo until the connection is closed; then end of stream after exactly the answered bytes.
        let (mut message, pid) = ([0; 100], server.pid());
        thread::scope(|scope| {
            scope.spawn(move || {
                thread::sleep(Duration::from_millis(50));
                signal(pid, Signal::TERM);
            });
            loop {
                if client.write_all(&message).is_err() {
                    break;
                }
                sent += 1;
                match client.read_exact(&mut message) {
                    Ok(()) => got += 1,
                    Err(_) => break,
                }
            }
        });
        assert!(got > 0 && sent - got <= 1, "{model}: {got} of {sent} came back");
        let (status, _, said) = server.end();
        assert!(status.success(), "{model}: {said}");
    }
}

#[test]
fn no_connection_is_accepted_during_the_grace_period() {
    for model in models() {
        let server = Server::of_model(model, "--grace 10m");
        let mut client = connect(server.address());
        ask(&mut client, b"first");
        server.signal(Signal::TERM);
        let start = Instant::now();
        loop {
            // Refused, or accepted by the kernel just before the listener closed and then reset.
            let Ok(mut late) = TcpStream::connect(server.address()) else { break };
            late.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
            let served = late.write_all(b"x").and_then(|()| late.read_exact(&mut [0]));
            assert!(start.elapsed() < PATIENCE, "{model}: still accepting, {served:?}");
        }
        // The existing connection is still served.
        ask(&mut client, b"last words");
        drop(client);
        assert!(server.end().0.success());
    }
}

#[test]
fn a_second_signal_kills() {
    for model in models() {
        let server = Server::of_model(model, "--grace 10m");
        let mut client = connect(server.address());
        ask(&mut client, b"hello");
        server.signal(Signal::INT);
        // Two pending signals coalesce; the first is handled once connections are refused.
        until(&format!("{model} accepts no more"), || TcpStream::connect(server.address()).is_err());
        server.signal(Signal::INT);
        let (status, _, _) = server.end();
        assert!(status.signal() == Some(2), "{model}: {status}");
    }
}
