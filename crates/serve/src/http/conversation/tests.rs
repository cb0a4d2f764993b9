//! The conversation without a socket: responses must not depend on how the input is split.

use super::*;
use crate::http::config::settings::Settings;
use crate::http::config::{Plan, Service};
use crate::http::shared::Shared;
use proptest::prelude::*;
use std::sync::Arc;

struct Nowhere;

impl Endpoint for Nowhere {
    fn addrs(&self) -> Addrs {
        let address = SocketAddr::from(([192, 0, 2, 1], 1));
        Addrs { peer: address, local: address }
    }
}

fn worker(service: Service) -> Worker {
    let settings = Settings { bare: true, ..Settings::default() };
    Worker::new(&Arc::new(Shared::new(settings, Plan::service(service, Vec::new()), 1, None)), 0)
}

/// Feeds the pieces without pausing. Returns the output, the number of writes and the last action.
fn drive(worker: &Worker, pieces: &[&[u8]]) -> (String, usize, Action) {
    let (mut conversation, mut output, mut writes) = (Conversation::new(0), Vec::new(), 0);
    for piece in pieces {
        let mut input = *piece;
        loop {
            let mut out = Vec::new();
            let next = conversation.step(&mut input, worker, &Nowhere, &mut out);
            writes += usize::from(!out.is_empty());
            output.extend_from_slice(&out);
            match next {
                Action::Read => {
                    assert!(input.is_empty(), "Read with input left");
                    break;
                }
                Action::Write | Action::Pause(_) => {}
                last => return (String::from_utf8(output).unwrap(), writes, last),
            }
        }
    }
    (String::from_utf8(output).unwrap(), writes, Action::Read)
}

const HELLO: &str = "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: 11\r\n\r\nHi, there!\n";

#[test]
fn a_pipeline_is_one_write_up_to_a_limited_size() {
    for (requests, expected) in [(20, 1), (2000, (HELLO.len() * 2000).div_ceil(MAX_BUFFERED))] {
        let input = "GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(requests);
        let (output, writes, next) = drive(&worker(Service::Hello), &[input.as_bytes()]);
        assert!(output == HELLO.repeat(requests), "{requests} requests");
        assert_eq!((writes, next), (expected, Action::Read), "{requests} requests");
    }
}

#[test]
fn requests_after_the_last_one_are_not_answered() {
    let worker = worker(Service::Hello);
    let close = "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n";
    let closing = HELLO.replace("\r\n\r\n", "\r\nConnection: close\r\n\r\n");
    assert_eq!(drive(&worker, &[close.as_bytes()]), (closing.clone(), 1, Action::Close));
    // The client sent more: closing at once would reset the connection and lose the response.
    let more = format!("{close}GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_eq!(drive(&worker, &[more.as_bytes()]), (closing.clone(), 1, Action::Linger(LINGER)));
    worker.stop();
    assert_eq!(drive(&worker, &[b"GET / HTTP/1.1\r\nHost: a\r\n\r\n"]), (closing, 1, Action::Close));
}

#[test]
fn body_bytes_are_reserved_and_released() {
    let worker = worker(Service::Echo);
    let most = worker.settings.bodies;
    assert!(worker.reserve_body(most - 5));
    let post = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 6\r\n\r\n";
    let (output, _, next) = drive(&worker, &[post, b"12345"]);
    assert_eq!((output.as_str(), next), ("", Action::Read));
    let (output, _, next) = drive(&worker, &[post, b"1"]);
    assert!(output.starts_with("HTTP/1.1 503 ") && next == Action::Linger(LINGER), "{output}");
    // The first conversation was never ended, so its five bytes stay reserved.
    worker.release_body(most - 5);
    let (output, ..) = drive(&worker, &[post, b"123456"]);
    assert!(output.ends_with("\r\n\r\n123456"), "{output}");
    assert!(worker.reserve_body(most - 5) && !worker.reserve_body(1));
}

/// Requests of many kinds, some invalid.
fn requests() -> impl Strategy<Value = String> {
    const KINDS: &[&str] = &[
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /status/404 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /bytes/70000 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /stream/2 HTTP/1.1\r\nHost: a\r\n\r\n",
        "GET /delay/1ms HTTP/1.1\r\nHost: a\r\n\r\n",
        "HEAD /bytes/9 HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /anything HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\n\r\nhello",
        "POST /anything HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        "GET /ip HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "GET /stream/1 HTTP/1.0\r\n\r\n",
        "GET /ip HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\n\r\n",
        "nonsense\r\n\r\n",
    ];
    proptest::collection::vec(proptest::sample::select(KINDS), 0..6).prop_map(|kinds| kinds.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn output_does_not_depend_on_how_input_is_split(
        input in requests(),
        cuts in proptest::collection::vec(any::<proptest::sample::Index>(), 0..8),
    ) {
        for service in [Service::Httpbin, Service::Hello, Service::Echo, Service::Whoami] {
            let worker = worker(service);
            let (whole, _, end) = drive(&worker, &[input.as_bytes()]);
            let mut places: Vec<usize> = cuts.iter().map(|cut| cut.index(input.len() + 1)).collect();
            places.extend([0, input.len()]);
            places.sort_unstable();
            let pieces: Vec<&[u8]> = places.windows(2).map(|pair| &input.as_bytes()[pair[0]..pair[1]]).collect();
            let (cut, _, cut_end) = drive(&worker, &pieces);
            prop_assert_eq!(&cut, &whole);
            // Only whether more input follows may differ.
            let ends = |next: Action| matches!(next, Action::Close | Action::Linger(_));
            prop_assert_eq!(ends(cut_end), ends(end));
        }
    }

    #[test]
    fn no_bytes_panic_or_hang(bytes in proptest::collection::vec(any::<u8>(), 0..300)) {
        for service in [Service::Httpbin, Service::Echo] {
            let (mut conversation, worker, mut out) = (Conversation::new(0), worker(service), Vec::new());
            let mut input = &bytes[..];
            while matches!(conversation.step(&mut input, &worker, &Nowhere, &mut out), Action::Write | Action::Pause(_)) {}
            let _ = conversation.eof(&worker, &mut out);
        }
    }
}
