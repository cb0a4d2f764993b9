//! Responses are framed correctly, and callers cannot break the framing.

use brunt_wire::http1::server::{Connection, Event};
use brunt_wire::http1::{DateHeader, EncodeError, Limits, Persistence, RequestMeta, Response, StaticResponse, Version};
use proptest::{collection::vec, prelude::*};

use crate::common::{OwnedEvent, config, cut, read};

/// The meta data of a parsed request.
fn meta(request: &str) -> RequestMeta {
    let (mut connection, mut input) = (Connection::default(), request.as_bytes());
    match connection.next(&mut input, &Limits::default()) {
        Some(Event::Head(head)) => head.meta(),
        other => panic!("{other:?}"),
    }
}

fn get() -> RequestMeta {
    meta("GET / HTTP/1.1\r\nHost: a\r\n\r\n")
}

fn text(out: &[u8]) -> String {
    String::from_utf8(out.to_vec()).unwrap()
}

#[test]
fn comp_date_header_and_server_are_in_every_response() {
    let (mut out, date) = (Vec::new(), DateHeader::new(Some("brunt"), 784_111_777).unwrap());
    let _persistence =
        Response::new(&mut out, get(), &date, 404).unwrap().field("X-A", b"b").unwrap().close().body(b"none");
    assert_eq!(
        text(&out),
        "HTTP/1.1 404 Not Found\r\nServer: brunt\r\nDate: Sun, 06 Nov 1994 08:49:37 GMT\r\nX-A: b\r\n\
         Content-Length: 4\r\nConnection: close\r\n\r\nnone"
    );
}

#[test]
fn comp_no_cl_in_204() {
    for status in [204, 304] {
        let (mut out, mut prepared) = (Vec::new(), Vec::new());
        let persistence = Response::new(&mut out, get(), &DateHeader::bare(), status).unwrap().body(b"not sent");
        assert_eq!(
            persistence,
            StaticResponse::new(status, &[], b"not sent").unwrap().write(&mut prepared, get(), &DateHeader::bare())
        );
        assert_eq!(out, prepared);
        let (mut stream, _persistence) = Response::new(&mut out, get(), &DateHeader::bare(), status).unwrap().stream();
        stream.write(&mut out, b"not sent").unwrap();
        stream.end(&mut out).unwrap();
        let line = format!("HTTP/1.1 {status} {}\r\n\r\n", brunt_wire::http1::reason(status));
        assert_eq!(text(&out), format!("{line}{line}"));
    }
}

/// The four ways to write a response, with whether the connection is kept.
fn in_all_ways(request: RequestMeta, status: u16, body: &[u8]) -> Vec<(String, Persistence)> {
    let date = DateHeader::bare();
    let write = |how: usize| {
        let mut out = Vec::new();
        let response = |out| Response::new(out, request, &date, status).unwrap();
        let persistence = match how {
            0 => StaticResponse::new(status, &[], body).unwrap().write(&mut out, request, &date),
            1 => response(&mut out).body(body),
            _ => {
                let response = response(&mut out);
                let (mut writer, persistence) =
                    if how == 2 { response.sized(body.len() as u64) } else { response.stream() };
                writer.write(&mut out, body).unwrap();
                writer.end_with(&mut out, &[("X-Trailer", b"1")]).unwrap();
                persistence
            }
        };
        (text(&out), persistence)
    };
    (0..4).map(write).collect()
}

/// RFC 9110, 15.3.6: no content, shown by a length of 0.
#[test]
fn a_205_has_length_0() {
    let expected = "HTTP/1.1 205 Reset Content\r\nContent-Length: 0\r\n\r\n".to_owned();
    for method in ["GET", "HEAD", "POST"] {
        let request = meta(&format!("{method} / HTTP/1.1\r\nHost: a\r\n\r\n"));
        for written in in_all_ways(request, 205, b"not sent") {
            assert_eq!(written, (expected.clone(), Persistence::Keep));
        }
    }
    let old = meta("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    for (out, persistence) in in_all_ways(old, 205, b"not sent") {
        assert!(out.ends_with("\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n"), "{out}");
        assert_eq!(persistence, Persistence::Keep);
    }
}

/// RFC 9110, 9.3.6: the bytes that follow belong to the tunnel.
#[test]
fn a_2xx_to_connect_has_no_framing_and_no_content() {
    let connect = meta("CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n");
    for status in [200, 204, 205, 299] {
        for (out, persistence) in in_all_ways(connect, status, b"not sent") {
            let reason = brunt_wire::http1::reason(status);
            assert_eq!(out, format!("HTTP/1.1 {status} {reason}\r\nConnection: close\r\n\r\n"));
            assert_eq!(persistence, Persistence::Close);
        }
    }
    for (out, persistence) in in_all_ways(connect, 405, b"sent") {
        assert!(out.contains("sent"), "{out}");
        assert_eq!(persistence, Persistence::Keep);
    }
}

#[test]
fn head_gets_the_fields_of_get_and_no_body() {
    let head = meta("HEAD / HTTP/1.1\r\nHost: a\r\n\r\n");
    for streamed in [false, true] {
        let written = |request| {
            let mut out = Vec::new();
            let response = Response::new(&mut out, request, &DateHeader::bare(), 200).unwrap();
            let (mut stream, _persistence) = if streamed { response.stream() } else { response.sized(2) };
            stream.write(&mut out, b"hi").unwrap();
            stream.end(&mut out).unwrap();
            text(&out)
        };
        let (whole, bare) = (written(get()), written(head));
        assert!(bare.ends_with("\r\n\r\n") && whole.starts_with(&bare) && whole.len() > bare.len(), "{whole} {bare}");
    }
}

#[test]
fn unknown_statuses_have_an_empty_phrase_and_invalid_ones_are_rejected() {
    let mut out = Vec::new();
    let _persistence = Response::new(&mut out, get(), &DateHeader::bare(), 799).unwrap().body(b"");
    assert_eq!(text(&out), "HTTP/1.1 799 \r\nContent-Length: 0\r\n\r\n");
    for status in [0, 99, 100, 101, 199, 1000] {
        assert_eq!(
            Response::new(&mut Vec::new(), get(), &DateHeader::bare(), status).unwrap_err(),
            EncodeError::Status(status)
        );
        assert_eq!(StaticResponse::new(status, &[], b"").unwrap_err(), EncodeError::Status(status));
    }
    for status in [99, 101, 200] {
        assert_eq!(Response::interim(&mut Vec::new(), get(), status, &[]), Err(EncodeError::Status(status)));
    }
}

#[test]
fn header_injection_is_rejected_and_nothing_is_written() {
    let bad: [(&str, &[u8], EncodeError); 9] = [
        ("X-A", b"b\r\nSet-Cookie: c", EncodeError::FieldValue),
        ("X-A", b"b\nc", EncodeError::FieldValue),
        ("X-A", b"b\rc", EncodeError::FieldValue),
        ("X-A", b"b\0c", EncodeError::FieldValue),
        ("X-A: b\r\nX-B", b"c", EncodeError::FieldName),
        ("X A", b"b", EncodeError::FieldName),
        ("", b"b", EncodeError::FieldName),
        ("content-length", b"5", EncodeError::FieldReserved),
        ("Transfer-Encoding", b"chunked", EncodeError::FieldReserved),
    ];
    for (name, value, expected) in bad {
        let mut out = b"before".to_vec();
        let response = Response::new(&mut out, get(), &DateHeader::bare(), 200).unwrap().field("X-Good", b"1").unwrap();
        assert_eq!(response.field(name, value).unwrap_err(), expected);
        assert_eq!(Response::interim(&mut out, get(), 103, &[("Link", b"x"), (name, value)]), Err(expected));
        assert_eq!(out, b"before");
        assert_eq!(StaticResponse::new(200, &[(name, value)], b"").unwrap_err(), expected);
        let (stream, _persistence) = Response::new(&mut out, get(), &DateHeader::bare(), 200).unwrap().stream();
        let length = out.len();
        assert_eq!(stream.end_with(&mut out, &[("X-Good", b"1"), (name, value)]), Err(expected));
        assert_eq!(out.len(), length);
    }
}

#[test]
fn the_length_of_a_sized_body_is_enforced() {
    let mut out = Vec::new();
    let (mut stream, _persistence) = Response::new(&mut out, get(), &DateHeader::bare(), 200).unwrap().sized(5);
    stream.write(&mut out, b"hel").unwrap();
    assert_eq!(stream.write(&mut out, b"lo!"), Err(EncodeError::BodyTooLong(1)));
    assert!(out.ends_with(b"hel"));
    assert_eq!(stream.end(&mut out), Err(EncodeError::BodyTooShort(2)));
}

proptest! {
    #![proptest_config(config(1000))]

    #[test]
    fn written_responses_are_read_back(
        status in prop_oneof![200u16..=600, Just(200), Just(204), Just(205), Just(304)],
        fields in vec(("X-[A-Za-z0-9]{1,8}", "[!-~]{0,12}"), 0..4),
        body in vec(any::<u8>(), 0..60),
        pieces in vec(0usize..60, 0..4),
        how in 0u8..4,
        is_head: bool,
        is_old: bool,
        keep: bool,
        cuts in vec(0usize..400, 0..6),
        whole: bool,
    ) {
        let method = if is_head { "HEAD" } else { "GET" };
        let options = match (keep, is_old) {
            (true, true) => "Connection: keep-alive\r\n",
            (false, false) => "Connection: close\r\n",
            _ => "",
        };
        let request = meta(&format!("{method} / HTTP/1.{}\r\nHost: a\r\n{options}\r\n", u8::from(!is_old)));
        let pairs: Vec<(&str, &[u8])> = fields.iter().map(|(name, value)| (name.as_str(), value.as_bytes())).collect();
        let date = DateHeader::new(Some("brunt"), 0).unwrap();
        let mut out = Vec::new();
        let persistence = if how == 0 {
            StaticResponse::new(status, &pairs, &body).unwrap().write(&mut out, request, &date)
        } else {
            let mut response = Response::new(&mut out, request, &date, status).unwrap();
            for (name, value) in &pairs {
                response = response.field(name, value).unwrap();
            }
            match how {
                1 => response.body(&body),
                2 | 3 => {
                    let (mut stream, persistence) =
                        if how == 2 { response.sized(body.len() as u64) } else { response.stream() };
                    for piece in cut(&body, &pieces) {
                        stream.write(&mut out, piece).unwrap();
                    }
                    stream.end(&mut out).unwrap();
                    persistence
                }
                _ => unreachable!(),
            }
        };
        let events = read(&[method], &cut(&out, &cuts), &Limits::CLIENT, whole, persistence == Persistence::Close);
        let Some(OwnedEvent::Response { status: read_status, version, fields: read_fields, .. }) = events.first() else {
            panic!("no response in {events:?}");
        };
        prop_assert_eq!((*read_status, *version), (status, Version::Http11));
        for (name, value) in &fields {
            prop_assert!(read_fields.contains(&(name.clone(), value.as_bytes().to_vec())), "{name} of {read_fields:?}");
        }
        let body: Vec<u8> = if is_head || matches!(status, 204 | 205 | 304) { Vec::new() } else { body };
        let read_body: Vec<u8> = events.iter().filter_map(|event| match event {
            OwnedEvent::Body(data) => Some(data.clone()),
            _ => None,
        }).flatten().collect();
        prop_assert_eq!(read_body, body);
        prop_assert_eq!(events.last(), Some(&OwnedEvent::End(persistence)), "{:?}", events);
    }
}
