//! Valid and invalid responses in a client, and the encoding of requests.

use brunt_wire::http1::client::{Connection, Event, Request, SentRequest};
use brunt_wire::http1::{Body, EncodeError, Leniency, Limits, ParseError, Persistence, Version};

use crate::common::{OwnedEvent, STRICT, read};

fn events(methods: &[&str], bytes: &str) -> Vec<OwnedEvent> {
    let events = read(methods, &[bytes.as_bytes()], &STRICT, false, true);
    let singly: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
    assert_eq!(read(methods, &singly, &STRICT, false, true), events, "fed byte by byte");
    assert_eq!(read(methods, &[bytes.as_bytes()], &STRICT, true, true), events, "by next_whole");
    events
}

/// Status, body and persistence of a response.
type Response = (u16, String, Option<Persistence>);

/// The responses, and the error that ends them, if any.
fn outcome(methods: &[&str], bytes: &str) -> (Vec<Response>, Option<ParseError>) {
    let (mut responses, mut error) = (Vec::new(), None);
    for event in events(methods, bytes) {
        match event {
            OwnedEvent::Response { status, .. } => responses.push((status, String::new(), None)),
            OwnedEvent::Body(data) => responses.last_mut().unwrap().1.push_str(str::from_utf8(&data).unwrap()),
            OwnedEvent::End(persistence) => responses.last_mut().unwrap().2 = Some(persistence),
            OwnedEvent::Error(it) => error = Some(it),
            _ => {}
        }
    }
    (responses, error)
}

fn single(method: &str, bytes: &str) -> Response {
    let (mut responses, error) = outcome(&[method], bytes);
    assert_eq!((responses.len(), error), (1, None), "{responses:?}");
    responses.remove(0)
}

fn error(method: &str, bytes: &str) -> ParseError {
    outcome(&[method], bytes).1.expect("an error")
}

#[test]
fn bodies_end_by_the_eight_rules_of_rfc_9112_section_6_3() {
    let (keep, close) = (Some(Persistence::Keep), Some(Persistence::Close));
    // 1: HEAD, 1xx, 204 and 304 have none, whatever their fields announce.
    assert_eq!(single("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), (200, String::new(), keep));
    assert_eq!(single("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), (200, String::new(), keep));
    assert_eq!(single("GET", "HTTP/1.1 204 No Content\r\n\r\n"), (204, String::new(), keep));
    assert_eq!(single("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), (304, String::new(), keep));
    // 3: both are an error.
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(error("GET", both), ParseError::LengthAndCoding);
    // 4: chunks, with extensions and trailers.
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n";
    assert_eq!(single("GET", chunks), (200, "abcde".to_owned(), keep));
    assert!(events(&["GET"], chunks).contains(&OwnedEvent::Trailers(vec![("X".to_owned(), b"y".to_vec())])));
    assert_eq!(error("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), ParseError::CodingUnknown);
    // 5: a bad length.
    assert_eq!(error("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n"), ParseError::LengthInvalid);
    assert_eq!(
        error("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        ParseError::LengthRepeated
    );
    // 6: a good one.
    assert_eq!(single("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), (200, "hello".to_owned(), keep));
    // 8: until the end.
    assert_eq!(single("GET", "HTTP/1.1 200 OK\r\n\r\nall of it"), (200, "all of it".to_owned(), close));
    assert_eq!(single("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"), (200, String::new(), close));
}

#[test]
fn persistence_follows_version_and_options() {
    let persistence = |head: &str| single("GET", &format!("{head}Content-Length: 0\r\n\r\n")).2.unwrap();
    assert_eq!(persistence("HTTP/1.1 200 OK\r\n"), Persistence::Keep);
    assert_eq!(persistence("HTTP/1.1 200 OK\r\nConnection: Close\r\n"), Persistence::Close);
    assert_eq!(persistence("HTTP/1.0 200 OK\r\n"), Persistence::Close);
    assert_eq!(persistence("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"), Persistence::Keep);
}

#[test]
fn interim_responses_come_before_the_final_one() {
    let bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let events = events(&["GET"], bytes);
    assert_eq!(events[0], OwnedEvent::Interim(100, Vec::new()));
    assert_eq!(events[1], OwnedEvent::Interim(103, vec![("Link".to_owned(), b"a".to_vec())]));
    assert_eq!(single("GET", bytes), (200, "x".to_owned(), Some(Persistence::Keep)));
    assert_eq!(error("GET", "HTTP/1.1 100 Continue\r\n\r\n"), ParseError::Unanswered);
}

#[test]
fn pipelined_responses_are_matched_to_their_requests() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nc";
    let (responses, error) = outcome(&["GET", "HEAD", "GET"], bytes);
    let keep = Some(Persistence::Keep);
    assert_eq!(responses, [(200, "a".to_owned(), keep), (200, String::new(), keep), (200, "c".to_owned(), keep)]);
    assert_eq!(error, None);
    let (responses, error) = outcome(&["GET", "GET"], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    assert_eq!((responses.len(), error), (1, Some(ParseError::Unanswered)));
}

#[test]
fn head_is_limited_to_64_outstanding_requests() {
    let mut connection = Connection::default();
    for _ in 0..64 {
        connection.sent(SentRequest::new("GET")).unwrap();
    }
    assert_eq!(connection.sent(SentRequest::new("HEAD")), Err(EncodeError::PipelineTooDeep));
    for _ in 0..1000 {
        connection.sent(SentRequest::new("GET")).unwrap();
    }
    assert_eq!(connection.unanswered(), 1064);
    let mut input = &b"HTTP/1.1 204 No Content\r\n\r\n".repeat(1064)[..];
    while connection.next_whole(&mut input, &Limits::CLIENT).is_some() {}
    assert_eq!((connection.unanswered(), input.len()), (0, 0));
}

#[test]
fn bytes_without_a_request_are_an_error() {
    assert_eq!(outcome(&[], "HTTP/1.1 408 Request Timeout\r\n\r\n").1, Some(ParseError::Unsolicited));
    let (responses, error) = outcome(&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy");
    assert_eq!((responses.len(), error), (1, Some(ParseError::Unsolicited)));
}

#[test]
fn truncated_messages_are_distinguished_from_ended_connections() {
    assert_eq!(outcome(&[], "").1, None);
    assert_eq!(outcome(&["GET"], "").1, Some(ParseError::Unanswered));
    for bytes in [
        "H",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ] {
        assert_eq!(outcome(&["GET"], bytes).1, Some(ParseError::Truncated), "{bytes}");
    }
}

#[test]
fn invalid_response_heads_are_rejected() {
    for (bytes, expected) in [
        ("\r\nHTTP/1.1 200 OK\r\n\r\n", ParseError::StatusLine),
        ("HTTP/1.1 099 Low\r\n\r\n", ParseError::StatusLine),
        ("HTTP/1.1 20 OK\r\n\r\n", ParseError::StatusLine),
        ("HTTP/2.0 200 OK\r\n\r\n", ParseError::VersionSyntax),
        ("ICY 200 OK\r\n\r\n", ParseError::VersionSyntax),
        ("HTTP/1.1 200 OK\nContent-Length: 0\r\n\r\n", ParseError::LineEnding),
        ("HTTP/1.1 200 OK\r\nContent-Length: 0\n\r\n", ParseError::LineEnding),
        ("HTTP/1.1 200 OK\r\nX: a\r\n b\r\n\r\n", ParseError::FieldName),
        ("HTTP/1.1 200 OK\r\nX : a\r\n\r\n", ParseError::FieldName),
        ("HTTP/1.1 200 OK\r\nX: a\0b\r\n\r\n", ParseError::FieldValue),
        ("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", ParseError::CodingInHttp10),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhelloX", ParseError::ChunkEnd),
    ] {
        assert_eq!(error("GET", bytes), expected, "{bytes:?}");
    }
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(256 << 10));
    assert_eq!(error("GET", &long), ParseError::HeadTooLong);
}

#[test]
fn bytes_after_101_are_not_consumed() {
    let mut connection = Connection::default();
    connection.sent(SentRequest::new("GET")).unwrap();
    let mut input = &b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n\x81\x02hi"[..];
    let Some(Event::Head(head)) = connection.next(&mut input, &Limits::CLIENT) else { panic!("no head") };
    assert_eq!((head.status, head.body, head.fields.get("upgrade")), (101, Body::Empty, Some(&b"websocket"[..])));
    assert!(matches!(connection.next(&mut input, &Limits::CLIENT), Some(Event::End(Persistence::Keep))));
    assert!(connection.next(&mut input, &Limits::CLIENT).is_none());
    assert_eq!(input, b"\x81\x02hi");
    assert!(connection.eof().is_none());
}

#[test]
fn requests_are_encoded_with_framing_and_connection_fields() {
    let mut out = Vec::new();
    let _sent = Request::get("a:1", "/x?y").encode(&mut out, None).unwrap();
    assert_eq!(out, b"GET /x?y HTTP/1.1\r\nHost: a:1\r\n\r\n");
    out.clear();
    let old = Request { version: Version::Http10, fields: &[("Accept", b"*/*")], ..Request::get("a", "/") };
    let _sent = old.encode(&mut out, None).unwrap();
    assert_eq!(out, b"GET / HTTP/1.0\r\nHost: a\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n");
    out.clear();
    // RFC 9110, 8.6: POST without content has a length of 0.
    let _sent = Request { method: "POST", keep_alive: false, ..Request::get("a", "/") }.encode(&mut out, None).unwrap();
    assert_eq!(out, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

#[test]
fn invalid_requests_are_rejected_and_nothing_is_written() {
    let good = Request::get("a", "/");
    let fields: [&[(&str, &[u8])]; 3] = [&[("Host", b"b")], &[("Connection", b"close")], &[("X", b"a\r\nY: b")]];
    for (request, refused) in [
        (Request { method: "GE T", ..good }, EncodeError::Method),
        (Request { method: "", ..good }, EncodeError::Method),
        (Request { method: "CONNECT", ..good }, EncodeError::Method),
        (Request { target: "/a b", ..good }, EncodeError::Target),
        (Request { target: "/a\r\nX: y", ..good }, EncodeError::Target),
        (Request { target: "/a#b", ..good }, EncodeError::Target),
        (Request { target: "", ..good }, EncodeError::Target),
        (Request { host: "a\r\nX: y", ..good }, EncodeError::Host),
        (Request { host: "", ..good }, EncodeError::Host),
        (Request { fields: fields[0], ..good }, EncodeError::FieldReserved),
        (Request { fields: fields[1], ..good }, EncodeError::FieldReserved),
        (Request { fields: fields[2], ..good }, EncodeError::FieldValue),
    ] {
        let mut out = b"before".to_vec();
        assert_eq!(request.encode(&mut out, None), Err(refused));
        assert_eq!(out, b"before");
    }
    let old = Request { version: Version::Http10, ..good };
    assert_eq!(old.encode_chunked(&mut Vec::new()).unwrap_err(), EncodeError::ChunksInHttp10);
    let trace = Request { method: "TRACE", ..good };
    assert_eq!(trace.encode(&mut Vec::new(), Some(b"body")), Err(EncodeError::TraceWithBody));
    assert_eq!(trace.encode_sized(&mut Vec::new(), 1).unwrap_err(), EncodeError::TraceWithBody);
    assert_eq!(trace.encode_chunked(&mut Vec::new()).unwrap_err(), EncodeError::TraceWithBody);
    assert!(trace.encode(&mut Vec::new(), None).is_ok());
}

/// Also if the final head comes later, behind others, and whole: the fast path does not read it then.
#[test]
fn what_was_accepted_of_an_interim_head_is_the_responses() {
    let mut connection = Connection::default();
    connection.sent(SentRequest::new("GET")).unwrap();
    let mut input = &b"HTTP/1.1 103 Early\nA: b\n\n"[..];
    assert!(matches!(connection.next(&mut input, &Limits::CLIENT), Some(Event::Interim(_))));
    assert!(connection.next(&mut input, &Limits::CLIENT).is_none());
    let mut input = &b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 204 No Content\r\n\r\n"[..];
    assert!(connection.next_whole(&mut input, &Limits::CLIENT).is_none());
    assert!(matches!(connection.next(&mut input, &Limits::CLIENT), Some(Event::Interim(_))));
    assert!(connection.next_whole(&mut input, &Limits::CLIENT).is_none());
    assert!(matches!(connection.next(&mut input, &Limits::CLIENT), Some(Event::Head(_))));
    assert!(matches!(connection.next(&mut input, &Limits::CLIENT), Some(Event::End(_))));
    assert_eq!(connection.take_accepted().iter().collect::<Vec<_>>(), [Leniency::BareLf]);
    connection.sent(SentRequest::new("GET")).unwrap();
    let mut input = &b"HTTP/1.1 204 No Content\r\n\r\n"[..];
    assert!(connection.next_whole(&mut input, &Limits::CLIENT).is_some());
    assert!(connection.take_accepted().is_empty());
}
