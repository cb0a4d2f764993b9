//! Exceeded limits are answered with their status; other clients are unaffected.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::pattern;

on_every_model! {
    heads_are_bounded
    bodies_are_bounded
    a_head_of_a_megabyte_is_refused_early
    bytes_that_are_not_http_are_refused
}

fn heads_are_bounded(model: &str) {
    let server = start(model, "--max-header 2KiB --max-fields 10");
    let refused = |request: String| {
        let mut client = Client::connect(server.address());
        client.send(request);
        let answer = client.answer();
        assert_eq!((answer.field("Connection"), client.rest()), (Some("close"), Vec::new()));
        answer.status
    };
    let fields = |count: usize| "X-Field: 1\r\n".repeat(count);
    assert_eq!(refused(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(10))), 431);
    assert_eq!(refused(format!("GET / HTTP/1.1\r\nHost: a\r\nX: {}\r\n\r\n", "x".repeat(3000))), 431);
    assert_eq!(refused(format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "x".repeat(3000))), 414);
    let mut client = Client::connect(server.address());
    client.send(format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(9)));
    assert_eq!(client.answer().status, 200);
}

fn bodies_are_bounded(model: &str) {
    let server = start(model, "--service echo --max-body 1000B");
    let mut client = Client::connect(server.address());
    assert_eq!(client.post("/", &pattern(1000)).body.len(), 1000);
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1001\r\n\r\n");
    assert_eq!((client.answer().status, client.rest()), (413, Vec::new()));
    let mut client = Client::connect(server.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n");
    client.send(pattern(1000));
    client.send("\r\n1\r\n");
    assert_eq!((client.answer().status, client.rest()), (413, Vec::new()));
}

fn a_head_of_a_megabyte_is_refused_early(model: &str) {
    let server = start(model, "");
    let mut other = Client::connect(server.address());
    let mut client = Client::connect(server.address());
    client.send("GET / HTTP/1.1\r\nHost: a\r\n");
    // The response is not lost although it is read only after sending everything.
    let line = format!("X-Much: {}\r\n", "x".repeat(990));
    let sent = (0..1000).take_while(|_| client.try_send(&line)).count();
    assert!(sent > 10, "{sent} lines went");
    assert_eq!(client.answer().status, 431);
    assert_eq!(other.get("/").status, 200);
}

fn bytes_that_are_not_http_are_refused(model: &str) {
    let server = start(model, "");
    for (garbage, status) in
        [("\x16\x03\x01\x02\0\x01\0\x01", 400), ("GET / HTTP/2.0\r\n\r\n", 505), ("GET /\r\n\r\n", 400)]
    {
        let mut client = Client::connect(server.address());
        client.send(garbage);
        let answer = client.answer();
        assert_eq!((answer.status, answer.field("Connection")), (status, Some("close")), "{garbage:?}");
        assert!(answer.text().starts_with(&format!("{status} ")), "{}", answer.text());
        assert_eq!(client.rest(), b"");
    }
}
