//! What a client makes of responses, good and bad.

use brunt_wire::http1::{
    Body, EncodeError, Limits, ParseError, Persistence, Version,
    client::{Connection, Event, Request, SentRequest},
};

use crate::common::{Seen, read};

fn seen(asked: &[&str], bytes: &str) -> Vec<Seen> {
    let events = read(asked, &[bytes.as_bytes()], &Limits::CLIENT, false, true);
    let singly: Vec<&[u8]> = bytes.as_bytes().chunks(1).collect();
    assert_eq!(read(asked, &singly, &Limits::CLIENT, false, true), events, "fed byte by byte");
    assert_eq!(read(asked, &[bytes.as_bytes()], &Limits::CLIENT, true, true), events, "by the short cut");
    events
}

/// Status, body and ending of a response.
type Answer = (u16, String, Option<Persistence>);

/// Each response; the fault, if it ends in one.
fn short(asked: &[&str], bytes: &str) -> (Vec<Answer>, Option<ParseError>) {
    let (mut answers, mut fault) = (Vec::new(), None);
    for event in seen(asked, bytes) {
        match event {
            Seen::Response { status, .. } => answers.push((status, String::new(), None)),
            Seen::Body(data) => answers.last_mut().unwrap().1.push_str(str::from_utf8(&data).unwrap()),
            Seen::End(after) => answers.last_mut().unwrap().2 = Some(after),
            Seen::Error(it) => fault = Some(it),
            _ => {}
        }
    }
    (answers, fault)
}

fn one(method: &str, bytes: &str) -> Answer {
    let (mut answers, fault) = short(&[method], bytes);
    assert_eq!((answers.len(), fault), (1, None), "{answers:?}");
    answers.remove(0)
}

fn fault(method: &str, bytes: &str) -> ParseError {
    short(&[method], bytes).1.expect("a fault")
}

#[test]
fn bodies_end_by_the_eight_rules_of_rfc_9112_section_6_3() {
    let (keep, close) = (Some(Persistence::Keep), Some(Persistence::Close));
    // 1: HEAD, 1xx, 204 and 304 have none, whatever they announce.
    assert_eq!(one("HEAD", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"), (200, String::new(), keep));
    assert_eq!(one("HEAD", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"), (200, String::new(), keep));
    assert_eq!(one("GET", "HTTP/1.1 204 No Content\r\n\r\n"), (204, String::new(), keep));
    assert_eq!(one("GET", "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), (304, String::new(), keep));
    // 3: both are an error.
    let both = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";
    assert_eq!(fault("GET", both), ParseError::LengthAndCoding);
    // 4: chunks, with extensions and trailers.
    let chunks = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;a=b\r\nabc\r\n2\r\nde\r\n0\r\nX: y\r\n\r\n";
    assert_eq!(one("GET", chunks), (200, "abcde".to_owned(), keep));
    assert!(seen(&["GET"], chunks).contains(&Seen::Trailers(vec![("X".to_owned(), b"y".to_vec())])));
    assert_eq!(fault("GET", "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n"), ParseError::CodingUnknown);
    // 5: a bad length.
    assert_eq!(fault("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5x\r\n\r\n"), ParseError::LengthInvalid);
    assert_eq!(
        fault("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\n"),
        ParseError::LengthRepeated
    );
    // 6: a good one.
    assert_eq!(one("GET", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"), (200, "hello".to_owned(), keep));
    // 8: until the end.
    assert_eq!(one("GET", "HTTP/1.1 200 OK\r\n\r\nall of it"), (200, "all of it".to_owned(), close));
    assert_eq!(one("GET", "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n\r\n"), (200, String::new(), close));
}

#[test]
fn the_connection_is_kept_by_version_and_options() {
    let after = |head: &str| one("GET", &format!("{head}Content-Length: 0\r\n\r\n")).2.unwrap();
    assert_eq!(after("HTTP/1.1 200 OK\r\n"), Persistence::Keep);
    assert_eq!(after("HTTP/1.1 200 OK\r\nConnection: Close\r\n"), Persistence::Close);
    assert_eq!(after("HTTP/1.0 200 OK\r\n"), Persistence::Close);
    assert_eq!(after("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\n"), Persistence::Keep);
}

#[test]
fn interim_responses_come_before_the_final_one() {
    let bytes = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx";
    let events = seen(&["GET"], bytes);
    assert_eq!(events[0], Seen::Interim(100, Vec::new()));
    assert_eq!(events[1], Seen::Interim(103, vec![("Link".to_owned(), b"a".to_vec())]));
    assert_eq!(one("GET", bytes), (200, "x".to_owned(), Some(Persistence::Keep)));
    assert_eq!(fault("GET", "HTTP/1.1 100 Continue\r\n\r\n"), ParseError::Unanswered);
}

#[test]
fn pipelined_responses_are_matched_to_their_requests() {
    let bytes = "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\naHTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nc";
    let (answers, fault) = short(&["GET", "HEAD", "GET"], bytes);
    let keep = Some(Persistence::Keep);
    assert_eq!(answers, [(200, "a".to_owned(), keep), (200, String::new(), keep), (200, "c".to_owned(), keep)]);
    assert_eq!(fault, None);
    let (answers, fault) = short(&["GET", "GET"], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\na");
    assert_eq!((answers.len(), fault), (1, Some(ParseError::Unanswered)));
}

#[test]
fn a_pipeline_is_as_deep_as_you_like_but_for_head() {
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
fn bytes_that_answer_nothing_are_a_fault() {
    assert_eq!(short(&[], "HTTP/1.1 408 Request Timeout\r\n\r\n").1, Some(ParseError::Unsolicited));
    let (answers, fault) = short(&["GET"], "HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nxy");
    assert_eq!((answers.len(), fault), (1, Some(ParseError::Unsolicited)));
}

#[test]
fn endings_in_the_middle_are_told_from_endings() {
    assert_eq!(short(&[], "").1, None);
    assert_eq!(short(&["GET"], "").1, Some(ParseError::Unanswered));
    for bytes in [
        "H",
        "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhel",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ] {
        assert_eq!(short(&["GET"], bytes).1, Some(ParseError::Truncated), "{bytes}");
    }
}

#[test]
fn heads_that_no_server_should_send_are_refused() {
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
        assert_eq!(fault("GET", bytes), expected, "{bytes:?}");
    }
    let long = format!("HTTP/1.1 200 OK\r\nX: {}\r\n\r\n", "a".repeat(70_000));
    assert_eq!(fault("GET", &long), ParseError::HeadTooLong);
}

#[test]
fn behind_101_the_bytes_are_left_alone() {
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
fn requests_are_written_as_they_are_meant() {
    let mut out = Vec::new();
    let _asked = Request::get("a:1", "/x?y").encode(&mut out, None).unwrap();
    assert_eq!(out, b"GET /x?y HTTP/1.1\r\nHost: a:1\r\n\r\n");
    out.clear();
    let old = Request { version: Version::Http10, fields: &[("Accept", b"*/*")], ..Request::get("a", "/") };
    let _asked = old.encode(&mut out, None).unwrap();
    assert_eq!(out, b"GET / HTTP/1.0\r\nHost: a\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n");
    out.clear();
    // RFC 9110, 8.6: POST says that it has no content.
    let _asked =
        Request { method: "POST", keep_alive: false, ..Request::get("a", "/") }.encode(&mut out, None).unwrap();
    assert_eq!(out, b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
}

#[test]
fn requests_that_would_break_are_refused_and_leave_no_trace() {
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
