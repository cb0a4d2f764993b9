//! Slow clients: each is disconnected, however it trickles, and others are served. When, is tested in `crates/serve/tests/sim`.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::PATIENCE;
use brunt_testkit::until;
use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

on_every_model! {
    heads_that_never_end_are_408
    bodies_that_never_end_are_408
    idle_connections_are_closed
    clients_that_do_not_read_are_reset
}

/// Sends a byte at a time until the server answers.
fn dribble(client: &mut Client, byte: &str) -> Answer {
    let start = Instant::now();
    while client.is_silent(Duration::from_millis(10)) {
        client.try_send(byte);
        assert!(start.elapsed() < PATIENCE, "nothing ends it");
    }
    client.answer()
}

fn heads_that_never_end_are_408(model: &str) {
    let server = start(model, "--header-timeout 50ms");
    let mut other = Client::connect(server.address());
    let mut client = Client::connect(server.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    let answer = dribble(&mut client, "x");
    assert_eq!((answer.status, answer.field("Connection")), (408, Some("close")));
    assert_eq!(client.rest(), b"");
    assert_eq!(other.get("/").status, 200);
}

fn bodies_that_never_end_are_408(model: &str) {
    let server = start(model, "--service echo --body-timeout 50ms");
    let mut client = Client::connect(server.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    let answer = dribble(&mut client, "x");
    assert_eq!(answer.status, 408);
    assert_eq!(client.rest(), b"");
}

fn idle_connections_are_closed(model: &str) {
    // So short that a client that asks may come too late.
    let server = start(model, "--idle-timeout 50ms");
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(server.address())).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.rest(), b""));
}

fn clients_that_do_not_read_are_reset(model: &str) {
    let server = start(model, "--service httpbin --send-timeout 50ms --metrics 127.0.0.1:0");
    let mut greedy = TcpStream::connect(server.address()).unwrap();
    greedy.write_all("GET /bytes/16000000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4).as_bytes()).unwrap();
    let mut metrics = Client::connect(server.addresses[1]);
    // The connection that requests the metrics is open too.
    for line in ["brunt_http_timeouts_total 1\n", "brunt_http_connections_open 1\n"] {
        until(line, || metrics.get("/metrics").text().contains(line));
    }
}
