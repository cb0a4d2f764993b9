//! Clients that are slow on purpose: each is given up in time, whatever it dribbles, and others are served meanwhile.

use crate::{client::*, on_every_model};
use std::{
    io::Write,
    net::TcpStream,
    thread,
    time::{Duration, Instant},
};

on_every_model! {
    heads_that_never_end_are_408
    bodies_that_never_end_are_408
    idle_connections_are_closed_and_busy_ones_are_not
    clients_that_do_not_read_are_given_up
    many_half_open_requests_do_not_slow_others
}

fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// Sends a byte now and then until the server answers; returns the answer and how long that took.
fn dribble(mut client: Client, byte: &str) -> (Answer, Duration, Client) {
    let start = Instant::now();
    while client.is_silent(ms(50)) {
        client.try_send(byte);
        assert!(start.elapsed() < ms(15_000), "nothing ends it");
    }
    let took = start.elapsed();
    (client.answer(), took, client)
}

fn heads_that_never_end_are_408(model: &str) {
    let server = start(model, "--header-timeout 400ms");
    let mut other = Client::connect(server.address());
    let mut client = Client::connect(server.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Slow: ");
    let (answer, took, mut client) = dribble(client, "x");
    assert_eq!((answer.status, answer.field("Connection")), (408, Some("close")));
    assert!(took >= ms(390) && took < ms(3000), "{took:?}");
    assert_eq!(client.rest(), b"");
    assert_eq!(other.get("/").status, 200);
}

fn bodies_that_never_end_are_408(model: &str) {
    let server = start(model, "--service echo --body-timeout 400ms");
    let mut client = Client::connect(server.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100000\r\n\r\n");
    let (answer, took, mut client) = dribble(client, "x");
    assert_eq!(answer.status, 408);
    assert!(took >= ms(390) && took < ms(3000), "{took:?}");
    assert_eq!(client.rest(), b"");
}

fn idle_connections_are_closed_and_busy_ones_are_not(model: &str) {
    let server = start(model, "--idle-timeout 400ms");
    let (mut idle, mut busy) = (Client::connect(server.address()), Client::connect(server.address()));
    let start = Instant::now();
    let idle = thread::spawn(move || (idle.rest(), start.elapsed()));
    while start.elapsed() < ms(1200) {
        assert_eq!(busy.get("/").status, 200);
        thread::sleep(ms(100));
    }
    let (said, took) = idle.join().unwrap();
    assert_eq!(said, b"");
    assert!(took >= ms(390) && took < ms(3000), "{took:?}");
}

fn clients_that_do_not_read_are_given_up(model: &str) {
    let server = start(model, "--service httpbin --send-timeout 400ms --metrics 127.0.0.1:0");
    let mut greedy = TcpStream::connect(server.address()).unwrap();
    greedy.write_all("GET /bytes/16000000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(4).as_bytes()).unwrap();
    let start = Instant::now();
    let mut metrics = Client::connect(server.addresses[1]);
    while !metrics.get("/metrics").text().contains("brunt_http_timeouts_total 1\n") {
        assert!(start.elapsed() < ms(10_000), "{}", metrics.get("/metrics").text());
        thread::sleep(ms(50));
    }
    assert!(start.elapsed() >= ms(390));
    assert!(metrics.get("/metrics").text().contains("brunt_http_connections_open 1\n"));
}

fn many_half_open_requests_do_not_slow_others(model: &str) {
    let server = start(model, "");
    let half: Vec<_> = (0..500)
        .map(|_| {
            let mut client = Client::connect(server.address());
            client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Le");
            client
        })
        .collect();
    let mut client = Client::connect(server.address());
    let start = Instant::now();
    (0..1000).for_each(|_| assert_eq!(client.get("/").status, 200));
    assert!(start.elapsed() < ms(10_000), "{:?}", start.elapsed());
    drop(half);
    assert_eq!(client.get("/").status, 200);
}
