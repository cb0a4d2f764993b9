//! SIGTERM: idle connections close at once, requests in progress are answered, slow ones are closed.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::Server;
use brunt_testkit::Signal;

on_every_model! {
    idle_connections_end_at_once
    a_request_in_progress_is_the_last_one_answered
    requests_longer_than_the_grace_period_are_closed
}

// A server that waited for these grace periods would count as hung.

fn idle_connections_end_at_once(model: &str) {
    let server = start(model, "--grace 10m");
    let mut clients: Vec<_> = (0..20).map(|_| Client::connect(server.address())).collect();
    clients.iter_mut().for_each(|client| assert_eq!(client.get("/").status, 200));
    server.signal(Signal::TERM);
    let (status, _, said) = server.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("20 connections served, 0 failed, 0 closed at the end of the grace period"), "{said}");
    clients.iter_mut().for_each(|client| assert_eq!(client.rest(), b""));
}

/// A client whose request for `target` is in progress: it was sent in one piece with another that has been answered.
fn asks(server: &Server, target: &str, more: &str) -> Client {
    let mut client = Client::connect(server.address());
    client.send(format!("GET /at/once HTTP/1.1\r\nHost: a\r\n\r\nGET {target} HTTP/1.1\r\nHost: a\r\n\r\n{more}"));
    assert_eq!(client.answer().status, 404);
    client
}

fn a_request_in_progress_is_the_last_one_answered(model: &str) {
    let server = start(model, "--grace 10m --service httpbin");
    let mut client = asks(&server, "/delay/0.5", "GET /status/201 HTTP/1.1\r\nHost: a\r\n\r\n");
    server.signal(Signal::TERM);
    assert_eq!(client.answer().status, 200);
    client.rest();
    let (status, _, said) = server.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("1 connections served, 0 failed, 0 closed at the end of the grace period"), "{said}");
}

fn requests_longer_than_the_grace_period_are_closed(model: &str) {
    let route = "[[route]]\npath = \"/late\"\ntext = \"late\"\ndelay = \"10m\"\n";
    let (server, _directory) = start_routes(model, route, "--grace 50ms");
    let mut client = asks(&server, "/late", "");
    server.signal(Signal::TERM);
    let (status, _, said) = server.end();
    assert!(status.success(), "{said}");
    assert!(said.contains("1 closed at the end of the grace period"), "{said}");
    let (_, received) = client.reset();
    assert_eq!(received, b"");
}
