//! Persistence of connections, and their ends.

use brunt_wire::http1::server::{Connection, Event, Waiting};
use brunt_wire::http1::{BodyWriter, DateHeader, Head, Limits, ParseError, Persistence, Response, StaticResponse};

use crate::common::{OwnedEvent, serve, serve_with};

/// Responds to every request of `input`; returns the bytes written and the last persistence.
fn respond(input: &str, mut with: impl FnMut(&Head<'_>, &mut Vec<u8>) -> Persistence) -> (String, Option<Persistence>) {
    let (limits, mut connection, mut out) = (Limits::default(), Connection::default(), Vec::new());
    let (mut input, mut last) = (input.as_bytes(), None);
    while let Some(event) = connection.next(&mut input, &limits) {
        match event {
            Event::Head(head) => last = Some(with(&head, &mut out)),
            Event::Error(error) => last = Some(Response::error(&mut out, &DateHeader::bare(), error)),
            Event::Body(_) | Event::Trailers(_) | Event::End(_) => {}
        }
    }
    (String::from_utf8(out).unwrap(), last)
}

fn hello(input: &str) -> (String, Option<Persistence>) {
    let prepared = StaticResponse::new(200, &[], b"hi").unwrap();
    let written =
        respond(input, |head, out| Response::new(out, head.meta(), &DateHeader::bare(), 200).unwrap().body(b"hi"));
    // One response, written in two ways.
    assert_eq!(respond(input, |head, out| prepared.write(out, head.meta(), &DateHeader::bare())), written);
    written
}

#[test]
fn comp_http10_keep_alive_as_ab_asks() {
    // `ab -k` requires the echoed token and a length.
    let (out, persistence) = hello(
        "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: a\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
    );
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
    assert_eq!(persistence, Some(Persistence::Keep));
}

#[test]
fn comp_http10_default_close() {
    let (out, persistence) = hello("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
    assert_eq!(persistence, Some(Persistence::Close));
}

#[test]
fn comp_http11_default_keep() {
    let (out, persistence) = hello("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(persistence, Some(Persistence::Keep));
}

#[test]
fn comp_connection_close() {
    for options in ["close", "Close", "keep-alive, CLOSE", "x,close", "close\r\nConnection: keep-alive"] {
        let (out, persistence) = hello(&format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: {options}\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        // RFC 9112, 9.6: bytes after such a request are not processed.
        assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", "{options}");
        assert_eq!(persistence, Some(Persistence::Close));
    }
}

#[test]
fn comp_head_no_body() {
    let (out, _) = hello("HEAD / HTTP/1.1\r\nHost: a\r\n\r\nHEAD / HTTP/1.0\r\n\r\n");
    assert_eq!(
        out,
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n"
    );
}

#[test]
fn h1spec_pipelined_requests_are_answered_in_order_in_one_write() {
    let input = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\nPOST /2 HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabcGET /3 HTTP/1.1\r\nHost: a\r\n\r\n";
    let (out, _) = respond(input, |head, out| {
        Response::new(out, head.meta(), &DateHeader::bare(), 200).unwrap().body(head.path().as_bytes())
    });
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(out, format!("{ok}/1{ok}/2{ok}/3"));
}

#[test]
fn an_error_response_follows_the_responses_due() {
    let (out, persistence) = hello("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert!(out.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 400 Bad Request\r\n"), "{out}");
    assert!(out.contains("\r\nConnection: close\r\n\r\n400 Bad Request: Host is missing\n"), "{out}");
    assert_eq!(persistence, Some(Persistence::Close));
}

#[test]
fn comp_no_1xx_http10() {
    let body = "Content-Length: 2\r\nExpect: 100-continue\r\n\r\nhi";
    let (out, _) = respond(&format!("POST / HTTP/1.1\r\nHost: a\r\n{body}POST / HTTP/1.0\r\n{body}"), |head, out| {
        assert_eq!(head.expects_continue, head.version == brunt_wire::http1::Version::Http11);
        if head.expects_continue {
            Response::interim(out, head.meta(), 100, &[]).unwrap();
        } else {
            Response::interim(out, head.meta(), 100, &[]).unwrap_err();
        }
        Persistence::Keep
    });
    assert_eq!(out, "HTTP/1.1 100 Continue\r\n\r\n");
}

#[test]
fn comp_chunks_to_http11_and_close_to_http10() {
    let (out, persistence) =
        respond("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", |head, out| {
            let (mut stream, persistence): (BodyWriter, Persistence) =
                Response::new(out, head.meta(), &DateHeader::bare(), 200).unwrap().stream();
            stream.write(out, b"hello").unwrap();
            stream.write(out, b"").unwrap();
            stream.write(out, b" world, sixteen.").unwrap();
            stream.end_with(out, &[("X-Sum", b"1")]).unwrap();
            persistence
        });
    assert_eq!(
        out,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n10\r\n world, sixteen.\r\n0\r\nX-Sum: 1\r\n\r\n\
         HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world, sixteen."
    );
    assert_eq!(persistence, Some(Persistence::Close));
}

#[test]
fn waiting_names_the_state_and_eof_detects_truncation() {
    let limits = Limits::default();
    let states = |bytes: &[u8]| {
        let mut connection = Connection::default();
        serve_with(&mut connection, &[bytes], &limits);
        (connection.waiting(), connection.eof(), connection.waiting())
    };
    assert_eq!(states(b""), (Waiting::Idle, None, Waiting::Closed));
    assert_eq!(states(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), (Waiting::Idle, None, Waiting::Closed));
    assert_eq!(states(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n"), (Waiting::Idle, None, Waiting::Closed));
    assert_eq!(states(b"GE"), (Waiting::Head, Some(ParseError::Truncated), Waiting::Closed));
    let post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(states(post), (Waiting::Body, Some(ParseError::Truncated), Waiting::Closed));
    let chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX";
    assert_eq!(states(chunked), (Waiting::Body, Some(ParseError::Truncated), Waiting::Closed));
    assert_eq!(states(b"GET / HTTP/1.0\r\n\r\n"), (Waiting::Closed, None, Waiting::Closed));
}

#[test]
fn targets_are_split_into_path_query_and_authority() {
    let mut apart = Vec::new();
    let input = "GET /a/b?c=d?e HTTP/1.1\r\nHost: h:1\r\n\r\n\
                 GET http://Other.example:80/x HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET HTTP://o?q HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET http://o HTTP/1.1\r\nHost: h\r\n\r\n\
                 OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n\
                 CONNECT p:443 HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET / HTTP/1.0\r\n\r\n";
    respond(input, |head, _| {
        apart.push((head.path().to_owned(), head.query().map(str::to_owned), head.authority().map(str::to_owned)));
        Persistence::Keep
    });
    let expected = [
        ("/a/b", Some("c=d?e"), Some("h:1")),
        ("/x", None, Some("Other.example:80")),
        ("/", Some("q"), Some("o")),
        ("/", None, Some("o")),
        ("*", None, Some("h")),
        ("", None, Some("p:443")),
        ("/", None, None),
    ];
    let expected =
        expected.map(|(path, query, host)| (path.to_owned(), query.map(str::to_owned), host.map(str::to_owned)));
    assert_eq!(apart, expected);
}

#[test]
fn connections_are_small_and_field_values_are_trimmed() {
    assert_eq!(size_of::<Connection>(), 40);
    assert_eq!(size_of::<brunt_wire::http1::client::Connection>(), 48);
    let events = serve(&[b"GET / HTTP/1.1\r\nHost: a\r\nA:\tb c \r\nA: \r\n\r\n"], &Limits::default());
    let Some(OwnedEvent::Request { fields, .. }) = events.first() else { panic!("{events:?}") };
    let expected: [(String, Vec<u8>); 3] =
        [("Host", "a"), ("A", "b c"), ("A", "")].map(|(name, value)| (name.to_owned(), value.as_bytes().to_vec()));
    assert_eq!(fields[..], expected);
}

#[test]
fn the_end_follows_the_head_unless_a_body_is_missing() {
    let limits = Limits::default();
    let mut connection = Connection::default();
    let mut input =
        &b"GET /a HTTP/1.1\r\nHost: a\r\n\r\nGET /b HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\nGET /c"[..];
    for (path, persistence, waiting) in
        [("/a", Persistence::Keep, Waiting::Idle), ("/b", Persistence::Close, Waiting::Closed)]
    {
        let Some(Event::Head(head)) = connection.next(&mut input, &limits) else { panic!("no head") };
        assert_eq!(head.path(), path);
        let Some(Event::End(end)) = connection.next(&mut input, &limits) else { panic!("no end") };
        assert_eq!((end, connection.waiting()), (persistence, waiting));
    }
    assert!(connection.next(&mut input, &limits).is_none());
    for (pieces, waiting) in [
        (&["POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n\r\n"][..], Waiting::Body),
        (&["GET / HT", "TP/1.1\r\nHost: a\r\n\r\n"], Waiting::Idle),
    ] {
        let (mut connection, mut event) = (Connection::default(), None);
        for piece in pieces {
            event = connection.next(&mut piece.as_bytes(), &limits).map(drop);
        }
        assert!(event.is_some());
        assert_eq!(connection.next(&mut &b""[..], &limits).is_some(), waiting == Waiting::Idle);
        assert_eq!(connection.waiting(), waiting);
    }
}
