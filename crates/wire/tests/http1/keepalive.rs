//! Who keeps the connection, and what is heard when it ends.

use brunt_wire::http1::{
    BodyWriter, DateHeader, Head, Limits, ParseError, Persistence, Response, StaticResponse,
    server::{Connection, Event, Waiting},
};

use crate::common::{Seen, serve, serve_with};

/// Answers every request of `input` and returns the bytes for the one write.
fn answer(input: &str, mut with: impl FnMut(&Head<'_>, &mut Vec<u8>) -> Persistence) -> (String, Option<Persistence>) {
    let (limits, mut connection, mut out) = (Limits::default(), Connection::default(), Vec::new());
    let (mut input, mut last) = (input.as_bytes(), None);
    while let Some(event) = connection.next(&mut input, &limits) {
        match event {
            Event::Head(head) => last = Some(with(&head, &mut out)),
            Event::Error(fault) => last = Some(Response::error(&mut out, &DateHeader::bare(), fault)),
            Event::Body(_) | Event::Trailers(_) | Event::End(_) => {}
        }
    }
    (String::from_utf8(out).unwrap(), last)
}

fn hello(input: &str) -> (String, Option<Persistence>) {
    let ready = StaticResponse::new(200, &[], b"hi").unwrap();
    let built =
        answer(input, |head, out| Response::new(out, head.meta(), &DateHeader::bare(), 200).unwrap().body(b"hi"));
    // One response, written in two ways.
    assert_eq!(answer(input, |head, out| ready.write(out, head.meta(), &DateHeader::bare())), built);
    built
}

#[test]
fn comp_http10_keep_alive_as_ab_asks() {
    // What `ab -k` sends, and what it needs to see: the echoed token and a length.
    let (out, after) = hello(
        "GET / HTTP/1.0\r\nConnection: Keep-Alive\r\nHost: a\r\nUser-Agent: ApacheBench/2.3\r\nAccept: */*\r\n\r\n",
    );
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nhi");
    assert_eq!(after, Some(Persistence::Keep));
}

#[test]
fn comp_http10_default_close() {
    let (out, after) = hello("GET / HTTP/1.0\r\nHost: a\r\n\r\n");
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi");
    assert_eq!(after, Some(Persistence::Close));
}

#[test]
fn comp_http11_default_keep() {
    let (out, after) = hello("GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi");
    assert_eq!(after, Some(Persistence::Keep));
}

#[test]
fn comp_connection_close() {
    for options in ["close", "Close", "keep-alive, CLOSE", "x,close", "close\r\nConnection: keep-alive"] {
        let (out, after) = hello(&format!(
            "GET / HTTP/1.1\r\nHost: a\r\nConnection: {options}\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n"
        ));
        // RFC 9112, 9.6: what is behind such a request is not processed.
        assert_eq!(out, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nhi", "{options}");
        assert_eq!(after, Some(Persistence::Close));
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
    let (out, _) = answer(input, |head, out| {
        Response::new(out, head.meta(), &DateHeader::bare(), 200).unwrap().body(head.path().as_bytes())
    });
    let ok = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n";
    assert_eq!(out, format!("{ok}/1{ok}/2{ok}/3"));
}

#[test]
fn a_fault_is_answered_behind_what_is_owed() {
    let (out, after) = hello("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert!(out.starts_with("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhiHTTP/1.1 400 Bad Request\r\n"), "{out}");
    assert!(out.contains("\r\nConnection: close\r\n\r\n400 Bad Request: Host is missing\n"), "{out}");
    assert_eq!(after, Some(Persistence::Close));
}

#[test]
fn comp_no_1xx_http10() {
    let body = "Content-Length: 2\r\nExpect: 100-continue\r\n\r\nhi";
    let (out, _) = answer(&format!("POST / HTTP/1.1\r\nHost: a\r\n{body}POST / HTTP/1.0\r\n{body}"), |head, out| {
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
    let (out, after) =
        answer("GET / HTTP/1.1\r\nHost: a\r\n\r\nGET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n", |head, out| {
            let (mut stream, after): (BodyWriter, Persistence) =
                Response::new(out, head.meta(), &DateHeader::bare(), 200).unwrap().stream();
            stream.write(out, b"hello").unwrap();
            stream.write(out, b"").unwrap();
            stream.write(out, b" world, sixteen.").unwrap();
            stream.end_with(out, &[("X-Sum", b"1")]).unwrap();
            after
        });
    assert_eq!(
        out,
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n10\r\n world, sixteen.\r\n0\r\nX-Sum: 1\r\n\r\n\
         HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhello world, sixteen."
    );
    assert_eq!(after, Some(Persistence::Close));
}

#[test]
fn waiting_says_which_deadline_applies_and_eof_what_was_cut_off() {
    let limits = Limits::default();
    let after = |bytes: &[u8]| {
        let mut connection = Connection::default();
        serve_with(&mut connection, &[bytes], &limits);
        (connection.waiting(), connection.eof(), connection.waiting())
    };
    assert_eq!(after(b""), (Waiting::Idle, None, Waiting::Closed));
    assert_eq!(after(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"), (Waiting::Idle, None, Waiting::Closed));
    assert_eq!(after(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n\r\n"), (Waiting::Idle, None, Waiting::Closed));
    assert_eq!(after(b"GE"), (Waiting::Head, Some(ParseError::Truncated), Waiting::Closed));
    let post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n";
    assert_eq!(after(post), (Waiting::Body, Some(ParseError::Truncated), Waiting::Closed));
    let chunked = b"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX";
    assert_eq!(after(chunked), (Waiting::Body, Some(ParseError::Truncated), Waiting::Closed));
    assert_eq!(after(b"GET / HTTP/1.0\r\n\r\n"), (Waiting::Closed, None, Waiting::Closed));
}

#[test]
fn targets_are_taken_apart() {
    let mut apart = Vec::new();
    let input = "GET /a/b?c=d?e HTTP/1.1\r\nHost: h:1\r\n\r\n\
                 GET http://Other.example:80/x HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET HTTP://o?q HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET http://o HTTP/1.1\r\nHost: h\r\n\r\n\
                 OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n\
                 CONNECT p:443 HTTP/1.1\r\nHost: h\r\n\r\n\
                 GET / HTTP/1.0\r\n\r\n";
    answer(input, |head, _| {
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
fn an_idle_connection_is_small_and_its_fields_are_read_only_when_asked_for() {
    assert_eq!(size_of::<Connection>(), 40);
    assert_eq!(size_of::<brunt_wire::http1::client::Connection>(), 48);
    let seen = serve(&[b"GET / HTTP/1.1\r\nHost: a\r\nA:\tb c \r\nA: \r\n\r\n"], &Limits::default());
    let Some(Seen::Request { fields, .. }) = seen.first() else { panic!("{seen:?}") };
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
