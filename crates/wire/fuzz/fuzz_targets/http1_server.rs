//! Requests of any bytes, cut in two ways: no panic, no loop, the same events; and answers never break their framing.
#![no_main]

use libfuzzer_sys::fuzz_target;
use brunt_wire::http1::{
    Limits, Response, DateHeader, client,
    server::{Connection, Event},
};

/// All that was said, body pieces joined; and the answers, with the methods that they answer.
fn drive(pieces: &[&[u8]], limits: &Limits) -> (Vec<u8>, Vec<u8>, Vec<String>) {
    let (mut connection, stamp) = (Connection::default(), DateHeader::bare());
    let (mut said, mut out, mut asked, mut in_body) = (Vec::new(), Vec::new(), Vec::new(), false);
    // Answered, though more of it may come: a fault in there is not answered again.
    let mut answered = false;
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        while let Some(event) = connection.next(&mut input, limits) {
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can say");
            if let Event::Body(data) = event {
                if !in_body {
                    said.extend_from_slice(b"\nbody ");
                }
                said.extend_from_slice(data);
                in_body = true;
                continue;
            }
            in_body = false;
            said.extend_from_slice(format!("\n{event:?}").as_bytes());
            match event {
                Event::Head(head) => {
                    asked.push(head.method_name.to_owned());
                    let response = Response::new(&mut out, head.meta(), &stamp, 200).expect("200 is a status");
                    let _after = response.body(head.target().as_bytes());
                    answered = true;
                    head.fields.iter().for_each(drop);
                    (head.path(), head.query(), head.authority());
                }
                Event::End(_) => answered = false,
                Event::Error(fault) if !answered => {
                    asked.push("GET".to_owned());
                    let _close = Response::error(&mut out, &stamp, fault);
                }
                _ => {}
            }
        }
        assert!(input.is_empty(), "bytes left over");
    }
    (said, out, asked)
}

fuzz_target!(|data: &[u8]| {
    let Some((&[how, first, second], bytes)) = data.split_first_chunk::<3>() else { return };
    let limits = match how & 1 {
        0 => Limits::default(),
        _ => Limits { head: 80, fields: 3, target: 12, body: 20, chunk_extensions: 12, trailers: 24 },
    };
    let first = usize::from(first).min(bytes.len());
    let second = (first + usize::from(second)).min(bytes.len());
    let whole = drive(&[bytes], &limits);
    assert_eq!(drive(&[&bytes[..first], &bytes[first..second], &bytes[second..]], &limits), whole);
    if how & 2 != 0 {
        assert_eq!(drive(&bytes.chunks(1).collect::<Vec<_>>(), &limits), whole);
    }
    // Every answer is read as one answer.
    let (_, out, asked) = whole;
    let (mut client, mut input) = (client::Connection::default(), &out[..]);
    for method in &asked {
        // Nothing is pipelined here: one question, one answer.
        client.sent(client::SentRequest::new(method)).expect("a shallow pipeline");
        loop {
            match client.next(&mut input, &Limits::CLIENT) {
                Some(client::Event::End(_)) => break,
                Some(client::Event::Error(fault)) => panic!("{fault}: {:?}", String::from_utf8_lossy(&out)),
                Some(_) => {}
                None => panic!("an answer is missing: {:?}", String::from_utf8_lossy(&out)),
            }
        }
    }
});
