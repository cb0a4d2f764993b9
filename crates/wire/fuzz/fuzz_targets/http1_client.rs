//! Arbitrary responses in two splits: no panic, no endless loop, the same events, with and without `next_whole`.
#![no_main]

use libfuzzer_sys::fuzz_target;
use brunt_wire::http1::{Leniencies, Limits};
use brunt_wire::http1::client::{SentRequest, Connection, Event};

fn drive(requests: u8, pieces: &[&[u8]], limits: &Limits, whole: bool) -> (Vec<u8>, Vec<Leniencies>) {
    let mut connection = Connection::default();
    for bit in 0..requests & 3 {
        let method = if requests >> (2 + bit) & 1 == 1 { "HEAD" } else { "GET" };
        connection.sent(SentRequest::new(method)).expect("a pipeline of at most 64");
    }
    let (mut log, mut accepted, mut in_body) = (Vec::new(), Vec::new(), false);
    let mut record = |event: Event<'_>| {
        if let Event::Body(data) = event {
            if !in_body {
                log.extend_from_slice(b"\nbody ");
            }
            log.extend_from_slice(data);
        } else {
            log.extend_from_slice(format!("\n{event:?}").as_bytes());
        }
        in_body = matches!(event, Event::Body(_));
    };
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        loop {
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can produce");
            if whole && let Some(whole) = connection.next_whole(&mut input, limits) {
                record(Event::Head(whole.head));
                if !whole.body.is_empty() {
                    record(Event::Body(whole.body));
                }
                record(Event::End(whole.head.persistence));
                continue;
            }
            match connection.next(&mut input, limits) {
                Some(event) => {
                    let is_end = matches!(event, Event::End(_));
                    record(event);
                    if is_end {
                        accepted.extend(Some(connection.take_accepted()).filter(|accepted| !accepted.is_empty()));
                    }
                }
                None => break,
            }
        }
    }
    if let Some(event) = connection.eof() {
        record(event);
    }
    (log, accepted)
}

fuzz_target!(|data: &[u8]| {
    let Some((&[how, first, second], bytes)) = data.split_first_chunk::<3>() else { return };
    let lenient = how & 2 == 0;
    let limits = match how & 1 {
        0 => Limits { lenient, ..Limits::CLIENT },
        _ => Limits { head: 80, fields: 3, target: 12, body: 20, chunk_extensions: 12, trailers: 24, lenient },
    };
    let first = usize::from(first).min(bytes.len());
    let second = (first + usize::from(second)).min(bytes.len());
    let events = drive(how >> 3, &[bytes], &limits, false);
    let pieces = [&bytes[..first], &bytes[first..second], &bytes[second..]];
    assert_eq!(drive(how >> 3, &pieces, &limits, false), events);
    assert_eq!(drive(how >> 3, &pieces, &limits, true), events);
});
