//! Requests and responses: the three services, keep-alive, pipelining, bodies, HEAD, Expect, HTTP/1.0.

use crate::http::on_every_model;
use crate::shared::client::*;
use crate::shared::server::*;
use std::net::TcpListener;

on_every_model! {
    hello_is_constant_with_a_date
    echo_returns_bodies_of_any_framing
    whoami_returns_path_and_address
    a_pipeline_is_answered_in_order
    a_request_may_arrive_byte_by_byte
    head_is_get_without_the_body
    expect_100_is_answered_before_the_body
    http_1_0_connections_stay_open_only_on_request
    a_half_closed_client_gets_its_responses
    connect_is_not_a_tunnel
}

fn hello_is_constant_with_a_date(model: &str) {
    let server = start(model, "");
    let mut client = Client::connect(server.address());
    for path in ["/", "/any/path?at=all"] {
        let answer = client.get(path);
        assert_eq!((answer.status, answer.text()), (200, "Hi, there!\n"));
        assert_eq!((answer.field("Server"), answer.field("Content-Type")), (Some("brunt"), Some("text/plain")));
        assert!(answer.field("Date").is_some_and(|date| date.ends_with(" GMT")), "{}", answer.head);
        assert_eq!(answer.field("Connection"), None);
    }
    // An ignored body is not parsed as the next request.
    for _ in 0..2 {
        assert_eq!(client.post("/", &pattern(100_000)).text(), "Hi, there!\n");
    }
    let bare = start(model, "--bare");
    let answer = Client::connect(bare.address()).get("/");
    assert_eq!((answer.field("Server"), answer.field("Date"), answer.text()), (None, None, "Hi, there!\n"));
}

fn echo_returns_bodies_of_any_framing(model: &str) {
    let server = start(model, "--service echo");
    let mut client = Client::connect(server.address());
    for length in [0, 1, 4096, 100_000, 3 << 20] {
        let answer = client.post("/", &pattern(length));
        assert!(answer.status == 200 && answer.body == pattern(length), "{length}: {}", answer.head);
    }
    let chunked = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\nContent-Type: text/x\r\n\r\n";
    client.send(format!("{chunked}5\r\nhello\r\n7;a=b\r\n, world\r\n0\r\nX-Trailer: 1\r\n\r\n"));
    let answer = client.answer();
    assert_eq!((answer.text(), answer.field("Content-Type")), ("hello, world", Some("text/x")));
}

fn whoami_returns_path_and_address(model: &str) {
    let server = start(model, "--service whoami");
    let answer = Client::connect(server.address()).get("/some/path?x=1");
    assert_eq!(answer.text(), "You are requesting /some/path from 127.0.0.1\n");
}

fn a_pipeline_is_answered_in_order(model: &str) {
    let server = start(model, "--service echo");
    let mut client = Client::connect(server.address());
    let all: String = (0..200)
        .map(|at| format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{at}", at.to_string().len()))
        .collect();
    client.send(all);
    for at in 0..200 {
        assert_eq!(client.answer().text(), at.to_string());
    }
    // Responses are much larger than requests.
    let server = start(model, "--service httpbin");
    let mut client = Client::connect(server.address());
    client.send("GET /bytes/200000 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(40));
    for _ in 0..40 {
        assert_eq!(client.answer().body.len(), 200_000);
    }
}

fn a_request_may_arrive_byte_by_byte(model: &str) {
    let server = start(model, "--service echo");
    let mut client = Client::connect(server.address());
    for _ in 0..2 {
        for byte in b"POST /a HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc" {
            client.send([*byte]);
        }
        assert_eq!(client.answer().text(), "abc");
    }
}

fn head_is_get_without_the_body(model: &str) {
    for service in ["hello", "httpbin"] {
        let server = start(model, &format!("--service {service}"));
        let mut client = Client::connect(server.address());
        let path = if service == "hello" { "/" } else { "/bytes/100000" };
        let of_get = client.get(path);
        client.send(format!("HEAD {path} HTTP/1.1\r\nHost: a\r\n\r\n"));
        let of_head = client.head();
        assert_eq!(of_head.field("Content-Length"), of_get.field("Content-Length"));
        assert_eq!(of_head.field("Content-Type"), of_get.field("Content-Type"));
        assert_eq!(client.get(path).body, of_get.body, "the head was all");
    }
}

fn expect_100_is_answered_before_the_body(model: &str) {
    let server = start(model, "--service echo --max-body 1KiB");
    let mut client = Client::connect(server.address());
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.answer().status, 100);
    client.send("hello");
    assert_eq!(client.answer().text(), "hello");
    // An excessive Content-Length is rejected before the body is sent.
    client.send("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\nExpect: 100-continue\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.status, answer.field("Connection")), (413, Some("close")));
    assert_eq!(client.rest(), b"");
}

fn http_1_0_connections_stay_open_only_on_request(model: &str) {
    let server = start(model, "");
    let mut client = Client::connect(server.address());
    for _ in 0..2 {
        client.send("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n");
        let answer = client.answer();
        assert_eq!((answer.field("Connection"), answer.text()), (Some("keep-alive"), "Hi, there!\n"));
    }
    client.send("GET / HTTP/1.0\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.field("Connection"), answer.text()), (Some("close"), "Hi, there!\n"));
    assert_eq!(client.rest(), b"");
    // HTTP/1.0 clients get no chunked encoding.
    let server = start(model, "--service httpbin");
    let mut client = Client::connect(server.address());
    client.send("GET /stream/3 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    let answer = client.answer();
    assert_eq!((answer.field("Transfer-Encoding"), answer.field("Connection")), (None, Some("close")));
    assert_eq!(answer.text().lines().count(), 3);
}

fn a_half_closed_client_gets_its_responses(model: &str) {
    let server = start(model, "--service httpbin");
    let mut client = Client::connect(server.address());
    client.send("GET /delay/300ms HTTP/1.1\r\nHost: a\r\n\r\nGET /status/201 HTTP/1.1\r\nHost: a\r\n\r\n");
    client.end();
    assert_eq!(client.answer().status, 200);
    assert_eq!(client.answer().status, 201);
    assert_eq!(client.rest(), b"");
    // End of stream within a request is an error.
    let mut client = Client::connect(server.address());
    client.send("GET / HTTP/1.1\r\nHo");
    client.end();
    assert_eq!(client.answer().status, 400);
    assert_eq!(client.rest(), b"");
}

fn connect_is_not_a_tunnel(model: &str) {
    let server = start(model, "");
    let mut client = Client::connect(server.address());
    client.send("CONNECT a:80 HTTP/1.1\r\nHost: a:80\r\n\r\n");
    assert_eq!(client.answer().status, 405);
}

#[test]
fn without_arguments_there_are_three_listeners() {
    let ports = [8080, 8081, 8082];
    if let Some(taken) = ports.iter().find(|port| TcpListener::bind(("127.0.0.1", **port)).is_err()) {
        println!("skipped: port {taken} is in use here, and this is about the ports without --listen");
        return;
    }
    let server = Server::start(command(""));
    assert_eq!(server.addresses, ports.map(|port| ([127, 0, 0, 1], port).into()));
    assert_eq!(Client::connect(server.addresses[0]).get("/").text(), "Hi, there!\n");
    assert_eq!(Client::connect(server.addresses[1]).post("/", b"echo").text(), "echo");
    assert_eq!(Client::connect(server.addresses[2]).get("/where").text(), "You are requesting /where from 127.0.0.1\n");
}
