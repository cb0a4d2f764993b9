//! Drives a connection over given pieces of input and notes what comes out, with body pieces joined.

use brunt_wire::http1::{Body, Fields, Limits, ParseError, Persistence, Version, client, server};
use proptest::prelude::ProptestConfig;

pub type Pairs = Vec<(String, Vec<u8>)>;

/// An event that owns what it shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Seen {
    Request { method: String, target: String, version: Version, fields: Pairs, body: Body, keep: bool },
    Interim(u16, Pairs),
    Response { status: u16, version: Version, fields: Pairs, body: Body, after: Persistence },
    Body(Vec<u8>),
    Trailers(Pairs),
    End(Persistence),
    Error(ParseError),
}

pub fn pairs(fields: Fields<'_>) -> Pairs {
    fields.iter().map(|field| (field.name.to_owned(), field.value.to_vec())).collect()
}

fn note(seen: &mut Vec<Seen>, event: Seen) {
    if let (Some(Seen::Body(so_far)), Seen::Body(more)) = (seen.last_mut(), &event) {
        so_far.extend_from_slice(more);
        return;
    }
    seen.push(event);
}

/// Feeds the pieces and returns all events.
pub fn serve(pieces: &[&[u8]], limits: &Limits) -> Vec<Seen> {
    serve_with(&mut server::Connection::default(), pieces, limits)
}

pub fn serve_with(connection: &mut server::Connection, pieces: &[&[u8]], limits: &Limits) -> Vec<Seen> {
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        loop {
            let before = input.len();
            let Some(event) = connection.next(&mut input, limits) else { break };
            assert!(input.len() <= before, "input grew");
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can say");
            note(&mut seen, owned(event));
        }
        assert!(input.is_empty(), "bytes left over and nothing to say about them");
    }
    seen
}

fn owned(event: server::Event<'_>) -> Seen {
    match event {
        server::Event::Head(head) => Seen::Request {
            method: head.method_name.to_owned(),
            target: head.target().to_owned(),
            version: head.version,
            fields: pairs(head.fields),
            body: head.body,
            keep: head.keeps_alive(),
        },
        server::Event::Body(data) => {
            assert!(!data.is_empty(), "an empty piece of body says nothing");
            Seen::Body(data.to_vec())
        }
        server::Event::Trailers(fields) => Seen::Trailers(pairs(fields)),
        server::Event::End(after) => Seen::End(after),
        server::Event::Error(fault) => Seen::Error(fault),
    }
}

/// Feeds the pieces to a client that has asked those methods, and returns all events, that of the end among them.
pub fn read(asked: &[&str], pieces: &[&[u8]], limits: &Limits, whole: bool, eof: bool) -> Vec<Seen> {
    let mut connection = client::Connection::default();
    for method in asked {
        connection.sent(client::SentRequest::new(method)).expect("a shallow pipeline");
    }
    let mut seen = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        loop {
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can say");
            if whole && let Some(whole) = connection.next_whole(&mut input, limits) {
                note(&mut seen, response(whole.head));
                if !whole.body.is_empty() {
                    note(&mut seen, Seen::Body(whole.body.to_vec()));
                }
                note(&mut seen, Seen::End(whole.head.persistence));
                continue;
            }
            let before = input.len();
            let Some(event) = connection.next(&mut input, limits) else { break };
            assert!(input.len() <= before, "input grew");
            note(&mut seen, answer(event));
        }
    }
    if eof && let Some(event) = connection.eof() {
        note(&mut seen, answer(event));
    }
    seen
}

fn response(head: client::Head<'_>) -> Seen {
    Seen::Response {
        status: head.status,
        version: head.version,
        fields: pairs(head.fields),
        body: head.body,
        after: head.persistence,
    }
}

fn answer(event: client::Event<'_>) -> Seen {
    match event {
        client::Event::Interim(head) => Seen::Interim(head.status, pairs(head.fields)),
        client::Event::Head(head) => response(head),
        client::Event::Body(data) => {
            assert!(!data.is_empty(), "an empty piece of body says nothing");
            Seen::Body(data.to_vec())
        }
        client::Event::Trailers(fields) => Seen::Trailers(pairs(fields)),
        client::Event::End(after) => Seen::End(after),
        client::Event::Error(fault) => Seen::Error(fault),
    }
}

/// What a whole input amounts to, in few words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The bodies of the requests in it, all complete.
    Takes(Vec<Vec<u8>>),
    /// EncodeError, with this status.
    Refuses(u16),
    /// So far, so good.
    Waits,
}

pub fn verdict(seen: &[Seen]) -> Verdict {
    let (mut bodies, mut open) = (Vec::new(), None);
    for event in seen {
        match event {
            Seen::Request { .. } => open = Some(Vec::new()),
            Seen::Body(data) => open.as_mut().expect("a body has a head").extend_from_slice(data),
            Seen::End(_) => bodies.push(open.take().expect("an end has a beginning")),
            Seen::Error(fault) => return Verdict::Refuses(fault.status()),
            _ => {}
        }
    }
    if open.is_some() || bodies.is_empty() { Verdict::Waits } else { Verdict::Takes(bodies) }
}

/// The piece boundaries `cuts` fall on, as pieces.
pub fn cut<'b>(bytes: &'b [u8], cuts: &[usize]) -> Vec<&'b [u8]> {
    let mut places: Vec<usize> = cuts.iter().map(|place| place % (bytes.len() + 1)).collect();
    places.sort_unstable();
    let mut pieces = Vec::new();
    let mut start = 0;
    for place in places {
        pieces.push(&bytes[start..place]);
        start = place;
    }
    pieces.push(&bytes[start..]);
    pieces
}

/// At least `cases` cases; `PROPTEST_CASES` asks for more.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig::with_cases(cases.max(ProptestConfig::default().cases))
}
