//! Slow clients: each is disconnected at its deadline, however it trickles, and others are served meanwhile.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::PATIENCE;
use brunt_testkit::until;
use std::io::Write;
use std::net::TcpStream;
use std::thread;
use std::time::{Duration, Instant};

on_every_model! {
    heads_that_never_end_are_408
    bodies_that_never_end_are_408
    idle_connections_are_closed_and_busy_ones_are_not
    clients_that_do_not_read_are_reset
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Sends a byte at a time until the server answers.
fn dribble(client: &mut Client, byte: &str) -> Answer {
    let start = Instant::now();
    while client.is_silent(ms(50)) {
        client.try_send(byte);
        assert!(start.elapsed() < PATIENCE, "nothing ends it");
    }
    client.answer()
}

// Times start before the connection is made: delays of the test only make the measured time longer than the server's.

fn heads_that_never_end_are_408(model: &str) {
    let server = start(model, "--header-timeout 400ms");
    let mut other = Client::connect(server.address());
    let start = Instant::now();
    let mut client = Client::connect(server.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    let answer = dribble(&mut client, "x");
    assert_eq!((answer.status, answer.field("Connection")), (408, Some("close")));
    assert!(start.elapsed() >= ms(390), "{:?}", start.elapsed());
    assert_eq!(client.rest(), b"");
    assert_eq!(other.get("/").status, 200);
}

fn bodies_that_never_end_are_408(model: &str) {
    let server = start(model, "--service echo --body-timeout 400ms");
    let start = Instant::now();
    let mut client = Client::connect(server.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    let answer = dribble(&mut client, "x");
    assert_eq!(answer.status, 408);
    assert!(start.elapsed() >= ms(390), "{:?}", start.elapsed());
    assert_eq!(client.rest(), b"");
}

fn idle_connections_are_closed_and_busy_ones_are_not(model: &str) {
    // Longer than any delay of the busy client.
    let server = start(model, "--idle-timeout 2s");
    let start = Instant::now();
    let (mut idle, mut busy) = (Client::connect(server.address()), Client::connect(server.address()));
    let idle = thread::spawn(move || (idle.rest(), start.elapsed()));
    while start.elapsed() < ms(4500) {
        assert_eq!(busy.get("/").status, 200);
        thread::sleep(ms(100));
    }
    let (said, took) = idle.join().unwrap();
    assert_eq!(said, b"");
    assert!(took >= ms(1990), "{took:?}");
}

fn clients_that_do_not_read_are_reset(model: &str) {
    let server = start(model, "--service httpbin --send-timeout 400ms --metrics 127.0.0.1:0");
    let start = Instant::now();
    let mut greedy = TcpStream::connect(server.address()).unwrap();
    greedy.write_all("GET /bytes/16000000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4).as_bytes()).unwrap();
    let mut metrics = Client::connect(server.addresses[1]);
    // The connection that requests the metrics is open too.
    for line in ["brunt_http_timeouts_total 1\n", "brunt_http_connections_open 1\n"] {
        until(line, || metrics.get("/metrics").text().contains(line));
    }
    assert!(start.elapsed() >= ms(390));
}
