//! Bodies that are made while they are sent, by handlers of the caller.

use super::common;
use brunt_serve::http::Plan;
use brunt_serve::http::handler::{Content, Factory, Piece, Request, Response, Source};
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

/// Three pieces with a pause before each; 100 KiB; the end. Stays before the second pause until the first piece is seen.
fn respond(is_seen: &Arc<AtomicBool>) -> Response {
    let is_seen = Arc::clone(is_seen);
    let mut number = 0;
    let source = Source::new(move || {
        number += 1;
        match number {
            3 if !is_seen.load(Relaxed) => {
                number = 2;
                Piece::Pause(Duration::from_millis(10))
            }
            1 | 3 | 5 => Piece::Pause(Duration::from_millis(10)),
            2 | 4 | 6 => Piece::Bytes(format!("piece {number}\n").as_bytes().into()),
            7 => Piece::Bytes(Vec::new().into()),
            8 => Piece::Bytes(vec![b'x'; 100 << 10].into()),
            _ => Piece::End,
        }
    });
    Response { status: 200, fields: Vec::new(), body: Content::Live(source), delay: Duration::ZERO, fault: None }
}

#[test]
fn a_live_body_arrives_as_it_is_made_and_the_connection_goes_on() {
    for model in common::models() {
        let is_seen = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_seen);
        let factory = Factory::new(move || {
            let shared = Arc::clone(&shared);
            Box::new(move |_: &Request<'_>| respond(&shared))
        });
        let address = common::start_plan(Plan::handler("live", factory, vec!["127.0.0.1:0".parse().unwrap()]), model);
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(brunt_testkit::LIMIT)).unwrap();
        let requests = "HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.0\r\n\r\n";
        stream.write_all(requests.as_bytes()).unwrap();
        let mut text = Vec::new();
        let mut buffer = [0; 4096];
        while let Ok(length @ 1..) = brunt_testkit::uninterrupted(|| stream.read(&mut buffer)) {
            text.extend_from_slice(&buffer[..length]);
            if text.windows(7).any(|seven| seven == b"piece 2") {
                is_seen.store(true, Relaxed);
            }
        }
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.matches("HTTP/1.1 200").count(), 3, "{model}");
        assert_eq!(text.matches("8\r\npiece 2\n\r\n").count(), 1, "{model}");
        assert_eq!(text.matches("piece 2\n").count(), 2, "{model}: the reply to HEAD has no body");
        assert_eq!(text.matches('x').count(), 2 * (100 << 10), "{model}");
        assert!(text.ends_with('x'), "{model}: HTTP/1.0 has no chunks");
    }
}
