//! Each limit, with a request within it and one beyond it.

use brunt_wire::http1::{Limits, MAX_FIELDS, ParseError, server::Connection};

use crate::common::{OwnedEvent, Verdict, serve, serve_with, verdict};

const POST_CHUNKED: &str = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";

/// The verdict on the whole input, which must be the same in pieces.
fn judge(bytes: &str) -> Verdict {
    let whole = serve(&[bytes.as_bytes()], &Limits::default());
    let mut connection = Connection::default();
    let pieces: Vec<&[u8]> = bytes.as_bytes().chunks(997).collect();
    assert_eq!(serve_with(&mut connection, &pieces, &Limits::default()), whole);
    verdict(&whole)
}

fn taken(bodies: &[&str]) -> Verdict {
    Verdict::Accepts(bodies.iter().map(|body| body.as_bytes().to_vec()).collect())
}

#[test]
fn comp_long_url_ok() {
    assert_eq!(judge(&format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "a".repeat(7990))), taken(&[""]));
}

#[test]
fn mal_long_url() {
    assert_eq!(judge(&format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "A".repeat(100_000))), Verdict::Rejects(414));
    assert_eq!(judge(&format!("GET /{} HTTP/1.1\r\nHost: a\r\n\r\n", "A".repeat(8192))), Verdict::Rejects(414));
}

#[test]
fn mal_long_method() {
    assert_eq!(judge(&format!("{} / HTTP/1.1\r\nHost: a\r\n\r\n", "A".repeat(100_000))), Verdict::Rejects(400));
}

#[test]
fn mal_long_header_value() {
    assert_eq!(
        judge(&format!("GET / HTTP/1.1\r\nHost: a\r\nX-Big: {}\r\n\r\n", "B".repeat(100_000))),
        Verdict::Rejects(431)
    );
    assert_eq!(judge(&format!("GET / HTTP/1.1\r\nHost: a\r\nX-Big: {}\r\n\r\n", "B".repeat(16_000))), taken(&[""]));
}

#[test]
fn mal_long_header_name() {
    assert_eq!(
        judge(&format!("GET / HTTP/1.1\r\nHost: a\r\n{}: val\r\n\r\n", "A".repeat(100_000))),
        Verdict::Rejects(431)
    );
}

#[test]
fn mal_many_headers() {
    let fields = |count: usize| (0..count).map(|n| format!("H{n}: v\r\n")).collect::<String>();
    let request = |count| format!("GET / HTTP/1.1\r\nHost: a\r\n{}\r\n", fields(count));
    assert_eq!(judge(&request(10_000)), Verdict::Rejects(431));
    assert_eq!(judge(&request(MAX_FIELDS)), Verdict::Rejects(431));
    assert_eq!(judge(&request(MAX_FIELDS - 1)), taken(&[""]));
}

#[test]
fn limits_on_heads_are_exact() {
    let request = "GET /abc HTTP/1.1\r\nHost: a\r\nX: b\r\n\r\n";
    let exact = Limits { head: request.len(), fields: 2, target: 4, ..Limits::default() };
    let judge = |limits: &Limits| verdict(&serve(&[request.as_bytes()], limits));
    assert_eq!(judge(&exact), taken(&[""]));
    assert_eq!(judge(&Limits { head: request.len() - 1, ..exact.clone() }), Verdict::Rejects(431));
    assert_eq!(judge(&Limits { fields: 1, ..exact.clone() }), Verdict::Rejects(431));
    assert_eq!(judge(&Limits { target: 3, ..exact }), Verdict::Rejects(414));
}

#[test]
fn mal_chunk_ext_64k() {
    let extended = |bytes: usize| format!("{POST_CHUNKED}5;{}\r\nhello\r\n0\r\n\r\n", "a".repeat(bytes));
    assert_eq!(judge(&extended(65_536)), Verdict::Rejects(400));
    assert_eq!(judge(&extended(4000)), taken(&["hello"]));
    // The limit applies to the sum.
    let many = "1;abcdefgh\r\nx\r\n".repeat(1000);
    assert_eq!(judge(&format!("{POST_CHUNKED}{many}0\r\n\r\n")), Verdict::Rejects(400));
}

#[test]
fn mal_endless_leading_crlf() {
    assert_eq!(judge(&"\r\n".repeat(50_000)), Verdict::Rejects(400));
}

#[test]
fn mal_long_trailers() {
    let trailers = |bytes: usize| format!("{POST_CHUNKED}0\r\nX: {}\r\n\r\n", "a".repeat(bytes));
    assert_eq!(judge(&trailers(100_000)), Verdict::Rejects(431));
    assert_eq!(judge(&trailers(8000)), taken(&[""]));
}

#[test]
fn long_bodies_are_rejected_as_soon_as_detected() {
    let limits = Limits { body: 10, ..Limits::default() };
    let sized = |length| format!("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: {length}\r\n\r\n0123456789");
    assert_eq!(verdict(&serve(&[sized(10).as_bytes()], &limits)), taken(&["0123456789"]));
    assert_eq!(serve(&[sized(11).as_bytes()], &limits), [OwnedEvent::Error(ParseError::BodyTooLong)]);
    let chunks = format!("{POST_CHUNKED}8\r\n01234567\r\n2\r\n89\r\n0\r\n\r\n");
    assert_eq!(verdict(&serve(&[chunks.as_bytes()], &limits)), taken(&["0123456789"]));
    let chunks = format!("{POST_CHUNKED}8\r\n01234567\r\n3\r\n89a\r\n0\r\n\r\n");
    let events = serve(&[chunks.as_bytes()], &limits);
    assert_eq!(verdict(&events), Verdict::Rejects(413));
    assert_eq!(events[1], OwnedEvent::Body(b"01234567".to_vec()));
}

#[test]
fn nothing_follows_an_error() {
    let limits = Limits::default();
    let mut connection = Connection::default();
    let events = serve_with(&mut connection, &[b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n"], &limits);
    assert_eq!(events, [OwnedEvent::Error(ParseError::HostMissing)]);
    assert_eq!(serve_with(&mut connection, &[b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"], &limits), []);
    assert_eq!(connection.eof(), None);
}
