//! Events do not depend on how input is split; no input causes a panic or an endless loop.

use brunt_wire::http1::{Limits, Version, client::Request};
use proptest::{collection::vec, prelude::*};

use crate::cases::ALL;
use crate::common::{OwnedEvent, config, cut, read, serve, verdict};

/// Limits that the inputs below exceed.
fn tight() -> Limits {
    Limits { head: 90, fields: 3, target: 12, body: 20, chunk_extensions: 12, trailers: 24, lenient: false }
}

#[test]
fn cases_give_the_same_events_for_every_split() {
    for case in ALL {
        for limits in [Limits::default(), tight()] {
            let whole = serve(&[case.bytes], &limits);
            for place in 0..=case.bytes.len() {
                let (front, back) = case.bytes.split_at(place);
                assert_eq!(serve(&[front, back], &limits), whole, "{} cut at {place}", case.name);
            }
            let bytes: Vec<&[u8]> = case.bytes.chunks(1).collect();
            assert_eq!(serve(&bytes, &limits), whole, "{} cut into bytes", case.name);
        }
    }
}

/// Fragments of messages in any order, some of them complete messages.
pub fn fragments() -> impl Strategy<Value = Vec<u8>> {
    let known = prop::sample::select(vec![
        "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
        "POST /x?y HTTP/1.1\r\nHost: a\r\nContent-Length: 7\r\n\r\n1234567",
        "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;a=\"b\"\r\nabc\r\n0\r\nX: y\r\n\r\n",
        "HEAD / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
        "HTTP/1.1 100 Continue\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
        "HTTP/1.0 200 OK\r\n\r\nuntil the end",
        "GET ",
        "/ ",
        "HTTP/1.1\r\n",
        "HTTP/1.2\r\n",
        "HTTP/1.1 ",
        "Host: a\r\n",
        "Content-Length: 2\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Connection: close\r\n",
        "Expect: 100-continue\r\n",
        "X: \r\n",
        " folded\r\n",
        "HTTP/1.1 200 OK\n",
        "HTTP/1.1  200 OK\r\n",
        "Content-Length: 2, 2\r\n",
        "Transfer-Encoding: gzip, chunked\n",
        "Y : a\rb\n",
        "2 \nab\n0\nX: y\n\n",
        "\r\n",
        "\n",
        "\r",
        "0\r\n\r\n",
        "2\r\nab\r\n",
    ]);
    vec(prop_oneof![8 => known.prop_map(|text| text.as_bytes().to_vec()), 1 => vec(any::<u8>(), 0..4)], 0..9)
        .prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(config(2000))]

    #[test]
    fn server_events_do_not_depend_on_splits(
        bytes in fragments(), cuts in vec(0usize..4000, 0..8), is_tight: bool,
    ) {
        let limits = if is_tight { tight() } else { Limits::default() };
        prop_assert_eq!(serve(&cut(&bytes, &cuts), &limits), serve(&[&bytes], &limits));
    }

    #[test]
    fn client_events_do_not_depend_on_splits(
        bytes in fragments(),
        cuts in vec(0usize..4000, 0..8),
        methods in vec(prop::sample::select(vec!["GET", "HEAD", "POST"]), 0..5),
        is_tight: bool,
        lenient: bool,
    ) {
        let limits = Limits { lenient, ..if is_tight { tight() } else { Limits::CLIENT } };
        let events = read(&methods, &[&bytes], &limits, false, true);
        prop_assert_eq!(&read(&methods, &cut(&bytes, &cuts), &limits, false, true), &events);
        prop_assert_eq!(&read(&methods, &cut(&bytes, &cuts), &limits, true, true), &events);
    }

    #[test]
    fn random_bytes_cause_no_panic(bytes in vec(any::<u8>(), 0..300), cuts in vec(0usize..300, 0..8)) {
        let limits = Limits::default();
        prop_assert_eq!(serve(&cut(&bytes, &cuts), &limits), serve(&[&bytes], &limits));
        read(&["GET"], &cut(&bytes, &cuts), &limits, true, true);
    }

    #[test]
    fn mutated_cases_give_the_same_events_for_every_split(
        case in prop::sample::select(ALL), changes in vec((any::<prop::sample::Index>(), any::<u8>()), 1..4), cuts in vec(0usize..400, 0..6),
    ) {
        let mut bytes = case.bytes.to_vec();
        for (place, byte) in changes {
            if !bytes.is_empty() {
                let place = place.index(bytes.len());
                bytes[place] = byte;
            }
        }
        let limits = Limits::default();
        prop_assert_eq!(serve(&cut(&bytes, &cuts), &limits), serve(&[&bytes], &limits));
    }

    #[test]
    fn written_requests_are_read_back(
        method in prop::sample::select(vec!["GET", "POST", "PUT", "DELETE", "M-SEARCH"]),
        target in "/[!-\"$-~]{0,20}",
        host in "[a-z0-9.-]{1,12}(:[0-9]{1,5})?",
        fields in vec(("X-[A-Za-z0-9!#$%&'*+.^_`|~-]{1,8}", vec(prop_oneof![Just(9u8), 32u8..=126, 128u8..=255], 0..12)), 0..5),
        body in vec(any::<u8>(), 0..60),
        chunks in vec(1usize..20, 0..5),
        how in 0u8..3,
        is_old: bool,
        keep_alive: bool,
        cuts in vec(0usize..400, 0..6),
    ) {
        let pairs: Vec<(&str, &[u8])> = fields.iter().map(|(name, value)| (name.as_str(), value.as_slice())).collect();
        let version = if is_old { Version::Http10 } else { Version::Http11 };
        let request = Request { method, target: &target, host: &host, fields: &pairs, version, keep_alive };
        let mut out = Vec::new();
        let chunked = how == 2 && !is_old;
        if chunked {
            let (_sent, mut stream) = request.encode_chunked(&mut out).unwrap();
            let mut rest = &body[..];
            for size in chunks {
                let (piece, behind) = rest.split_at(size.min(rest.len()));
                stream.write(&mut out, piece).unwrap();
                rest = behind;
            }
            stream.write(&mut out, rest).unwrap();
            stream.end_with(&mut out, &[("X-Sum", b"1")]).unwrap();
        } else if how == 1 {
            let (_sent, mut stream) = request.encode_sized(&mut out, body.len() as u64).unwrap();
            stream.write(&mut out, &body).unwrap();
            stream.end(&mut out).unwrap();
        } else {
            let _sent = request.encode(&mut out, Some(&body)).unwrap();
        }
        let events = serve(&cut(&out, &cuts), &Limits::default());
        prop_assert_eq!(verdict(&events), crate::common::Verdict::Accepts(vec![body]), "{:?}", events);
        let Some(OwnedEvent::Request { method: read_method, target: read_target, version: read_version, fields: read_fields, keep, .. }) = events.first() else {
            panic!("no request in {events:?}");
        };
        prop_assert_eq!((read_method.as_str(), read_target.as_str(), *read_version, *keep), (method, target.as_str(), version, keep_alive));
        for (name, value) in &fields {
            let trimmed = value.trim_ascii().to_vec();
            prop_assert!(read_fields.contains(&(name.clone(), trimmed)), "{name} of {read_fields:?}");
        }
        prop_assert_eq!(events.iter().any(|event| matches!(event, OwnedEvent::Trailers(_))), chunked);
    }
}
