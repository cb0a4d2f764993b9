//! Feeds pieces of input to a connection and collects the events, with pieces of a body joined.

use brunt_wire::http1::{Body, Fields, Leniency, Limits, ParseError, Persistence, Version, client, server};
use proptest::prelude::ProptestConfig;

pub type Pairs = Vec<(String, Vec<u8>)>;

/// An event that owns its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OwnedEvent {
    Request {
        method: String,
        target: String,
        version: Version,
        fields: Pairs,
        body: Body,
        keep: bool,
    },
    Interim(u16, Pairs),
    Response {
        status: u16,
        version: Version,
        fields: Pairs,
        body: Body,
        persistence: Persistence,
    },
    Body(Vec<u8>),
    Trailers(Pairs),
    /// What was accepted leniently, before the end of a response.
    Accepted(Vec<Leniency>),
    End(Persistence),
    Error(ParseError),
}

pub fn pairs(fields: Fields<'_>) -> Pairs {
    fields.iter().map(|field| (field.name.to_owned(), field.value.to_vec())).collect()
}

fn record(events: &mut Vec<OwnedEvent>, event: OwnedEvent) {
    if let (Some(OwnedEvent::Body(so_far)), OwnedEvent::Body(more)) = (events.last_mut(), &event) {
        so_far.extend_from_slice(more);
        return;
    }
    events.push(event);
}

/// Feeds the pieces and returns all events.
pub fn serve(pieces: &[&[u8]], limits: &Limits) -> Vec<OwnedEvent> {
    serve_with(&mut server::Connection::default(), pieces, limits)
}

pub fn serve_with(connection: &mut server::Connection, pieces: &[&[u8]], limits: &Limits) -> Vec<OwnedEvent> {
    let mut events = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        loop {
            let before = input.len();
            let Some(event) = connection.next(&mut input, limits) else { break };
            assert!(input.len() <= before, "input grew");
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can produce");
            record(&mut events, request_event(event));
        }
        assert!(input.is_empty(), "bytes left over without an event");
    }
    events
}

fn request_event(event: server::Event<'_>) -> OwnedEvent {
    match event {
        server::Event::Head(head) => OwnedEvent::Request {
            method: head.method_name.to_owned(),
            target: head.target().to_owned(),
            version: head.version,
            fields: pairs(head.fields),
            body: head.body,
            keep: head.keeps_alive(),
        },
        server::Event::Body(data) => {
            assert!(!data.is_empty(), "an empty piece of a body");
            OwnedEvent::Body(data.to_vec())
        }
        server::Event::Trailers(fields) => OwnedEvent::Trailers(pairs(fields)),
        server::Event::End(persistence) => OwnedEvent::End(persistence),
        server::Event::Error(error) => OwnedEvent::Error(error),
    }
}

/// Limits of a client that reads strictly.
pub const STRICT: Limits = Limits { lenient: false, ..Limits::CLIENT };

/// Feeds the pieces to a client that has sent requests with these methods, and returns all events; `eof` adds that of the end.
pub fn read(methods: &[&str], pieces: &[&[u8]], limits: &Limits, whole: bool, eof: bool) -> Vec<OwnedEvent> {
    let mut connection = client::Connection::default();
    for method in methods {
        connection.sent(client::SentRequest::new(method)).expect("a short pipeline");
    }
    let mut events = Vec::new();
    for piece in pieces {
        let mut input = *piece;
        let mut calls = 0;
        loop {
            calls += 1;
            assert!(calls <= 3 * piece.len() + 3, "more events than bytes can produce");
            if whole && let Some(whole) = connection.next_whole(&mut input, limits) {
                record(&mut events, response(whole.head));
                if !whole.body.is_empty() {
                    record(&mut events, OwnedEvent::Body(whole.body.to_vec()));
                }
                record(&mut events, OwnedEvent::End(whole.head.persistence));
                continue;
            }
            let before = input.len();
            let Some(event) = connection.next(&mut input, limits) else { break };
            assert!(input.len() <= before, "input grew");
            let event = response_event(event);
            note_accepted(&mut events, &event, &mut connection);
            record(&mut events, event);
        }
    }
    if eof && let Some(event) = connection.eof() {
        let event = response_event(event);
        note_accepted(&mut events, &event, &mut connection);
        record(&mut events, event);
    }
    events
}

fn note_accepted(events: &mut Vec<OwnedEvent>, event: &OwnedEvent, connection: &mut client::Connection) {
    if matches!(event, OwnedEvent::End(_)) {
        let accepted: Vec<Leniency> = connection.take_accepted().iter().collect();
        if !accepted.is_empty() {
            record(events, OwnedEvent::Accepted(accepted));
        }
    }
}

fn response(head: client::Head<'_>) -> OwnedEvent {
    OwnedEvent::Response {
        status: head.status,
        version: head.version,
        fields: pairs(head.fields),
        body: head.body,
        persistence: head.persistence,
    }
}

fn response_event(event: client::Event<'_>) -> OwnedEvent {
    match event {
        client::Event::Interim(head) => OwnedEvent::Interim(head.status, pairs(head.fields)),
        client::Event::Head(head) => response(head),
        client::Event::Body(data) => {
            assert!(!data.is_empty(), "an empty piece of a body");
            OwnedEvent::Body(data.to_vec())
        }
        client::Event::Trailers(fields) => OwnedEvent::Trailers(pairs(fields)),
        client::Event::End(persistence) => OwnedEvent::End(persistence),
        client::Event::Error(error) => OwnedEvent::Error(error),
    }
}

/// The result for a whole input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// The bodies of the requests in it, all complete.
    Accepts(Vec<Vec<u8>>),
    /// An error with this status.
    Rejects(u16),
    /// Incomplete.
    Waits,
}

pub fn verdict(events: &[OwnedEvent]) -> Verdict {
    let (mut bodies, mut open) = (Vec::new(), None);
    for event in events {
        match event {
            OwnedEvent::Request { .. } => open = Some(Vec::new()),
            OwnedEvent::Body(data) => open.as_mut().expect("a body has a head").extend_from_slice(data),
            OwnedEvent::End(_) => bodies.push(open.take().expect("an end has a beginning")),
            OwnedEvent::Error(error) => return Verdict::Rejects(error.status()),
            _ => {}
        }
    }
    if open.is_some() || bodies.is_empty() { Verdict::Waits } else { Verdict::Accepts(bodies) }
}

/// Splits `bytes` at `cuts`, which may be beyond its length.
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

/// Runs at least `cases` cases; more if `PROPTEST_CASES` is set.
pub fn config(cases: u32) -> ProptestConfig {
    ProptestConfig::with_cases(cases.max(ProptestConfig::default().cases))
}
