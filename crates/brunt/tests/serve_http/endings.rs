//! SIGTERM: idle connections end at once, requests under way are answered, what takes too long is cut.

use crate::{client::*, on_every_model};
use std::{
    thread,
    time::{Duration, Instant},
};

on_every_model! {
    idle_connections_end_at_once
    a_request_under_way_is_answered_and_is_the_last
    what_takes_longer_than_the_grace_is_cut
}

fn idle_connections_end_at_once(model: &str) {
    let server = start(model, "--grace 20s");
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(server.address())).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/").status, 200));
    server.signal("TERM");
    let (status, took, said) = server.end();
    assert!(status.success() && took < Duration::from_secs(5), "{took:?}");
    assert!(said.contains("20 connections served, 0 failed, 0 still open"), "{said}");
    clients.iter_mut().for_each(|client| assert_eq!(client.rest(), b""));
}

fn a_request_under_way_is_answered_and_is_the_last(model: &str) {
    let server = start(model, "--grace 10s --service httpbin");
    let mut client = Client::connect(server.address());
    client.send("GET /delay/1 HTTP/1.1\r\nHost: a\r\n\r\nGET /ip HTTP/1.1\r\nHost: a\r\n\r\n");
    thread::sleep(Duration::from_millis(300));
    server.signal("TERM");
    assert_eq!(client.answer().status, 200);
    client.rest();
    let (status, took, said) = server.end();
    assert!(status.success() && took < Duration::from_secs(5), "{took:?}");
    assert!(said.contains("1 connections served, 0 failed, 0 still open"), "{said}");
}

fn what_takes_longer_than_the_grace_is_cut(model: &str) {
    let server = start(model, "--grace 300ms --service httpbin");
    let mut client = Client::connect(server.address());
    client.send("GET /delay/9 HTTP/1.1\r\nHost: a\r\n\r\n");
    thread::sleep(Duration::from_millis(200));
    let begun = Instant::now();
    server.signal("TERM");
    let (status, _, said) = server.end();
    assert!(status.success() && begun.elapsed() < Duration::from_secs(5), "{said}");
    assert!(said.contains("1 still open and closed"), "{said}");
    let (_, received) = client.reset();
    assert_eq!(received, b"");
}
