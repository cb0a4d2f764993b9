//! Arbitrary requests in two splits: no panic, no endless loop, the same events, and responses that are framed correctly.
#![no_main]

use libfuzzer_sys::fuzz_target;
use brunt_wire::http1::{Limits, Response, DateHeader, client};
use brunt_wire::http1::server::{Connection, Event};

/// The events, with pieces of a body joined; the responses; and the methods they respond to.
fn drive(pieces: &[&[u8]], limits: &Limits) -> (Vec<u8>, Vec<u8>, Vec<String>) {
    let (mut connection, date) = (Connection::default(), DateHeader::bare());
    let (mut events, mut out, mut methods, mut in_body) = (Vec::new(), Vec::new(), Vec::new(), false);
    // Whether the current request has a response: a later error in it gets no other.
    let mut responded = false;
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        while let Some(event) = connection.next(&mut input, limits) {
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can produce");
            if let Event::Body(data) = event {
                if !in_body {
                    events.extend_from_slice(b"\nbody ");
                }
                events.extend_from_slice(data);
                in_body = true;
                continue;
            }
            in_body = false;
            events.extend_from_slice(format!("\n{event:?}").as_bytes());
            match event {
                Event::Head(head) => {
                    methods.push(head.method_name.to_owned());
                    let response = Response::new(&mut out, head.meta(), &date, 200).expect("200 is a status");
                    let _persistence = response.body(head.target().as_bytes());
                    responded = true;
                    head.fields.iter().for_each(drop);
                    (head.path(), head.query(), head.authority());
                }
                Event::End(_) => responded = false,
                Event::Error(error) if !responded => {
                    methods.push("GET".to_owned());
                    let _close = Response::error(&mut out, &date, error);
                }
                _ => {}
            }
        }
        assert!(input.is_empty(), "bytes left over");
    }
    (events, out, methods)
}

fuzz_target!(|data: &[u8]| {
    let Some((&[how, first, second], bytes)) = data.split_first_chunk::<3>() else { return };
    let limits = match how & 1 {
        0 => Limits::default(),
        _ => Limits { head: 80, fields: 3, target: 12, body: 20, chunk_extensions: 12, trailers: 24, lenient: true },
    };
    let first = usize::from(first).min(bytes.len());
    let second = (first + usize::from(second)).min(bytes.len());
    let whole = drive(&[bytes], &limits);
    assert_eq!(drive(&[&bytes[..first], &bytes[first..second], &bytes[second..]], &limits), whole);
    if how & 2 != 0 {
        assert_eq!(drive(&bytes.chunks(1).collect::<Vec<_>>(), &limits), whole);
    }
    // Every response is read as one response.
    let (_, out, methods) = whole;
    let (mut client, mut input) = (client::Connection::default(), &out[..]);
    for method in &methods {
        client.sent(client::SentRequest::new(method)).expect("a pipeline of at most 64");
        loop {
            match client.next(&mut input, &Limits::CLIENT) {
                Some(client::Event::End(_)) => break,
                Some(client::Event::Error(error)) => panic!("{error}: {:?}", String::from_utf8_lossy(&out)),
                Some(_) => {}
                None => panic!("a response is missing: {:?}", String::from_utf8_lossy(&out)),
            }
        }
    }
});
