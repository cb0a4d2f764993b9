//! Handshakes that succeed, however their bytes are split.

use crate::authority::{Authority, End, Validity, connected, pair, transfer, whole};
use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Connector, Identity, Trust, Version};

fn send(from: &mut End, to: &mut End, text: &[u8]) {
    from.session.encrypt(text, &mut from.out).unwrap();
    transfer(from, to, whole);
}

#[track_caller]
fn assert_exchange(client: &mut End, server: &mut End) {
    assert_eq!((client.error.clone(), server.error.clone()), (None, None));
    assert!(!client.session.is_handshaking() && !server.session.is_handshaking());
    send(client, server, b"question");
    send(server, client, b"answer");
    assert_eq!((&server.received[..], &client.received[..]), (&b"question"[..], &b"answer"[..]));
}

fn versions(authority: &Authority) -> [(Connector, &'static str); 2] {
    [(Version::Tls12, "TLS 1.2 "), (Version::Tls13, "TLS 1.3 ")].map(|(version, name)| {
        (
            authority.client(ClientOptions {
                version: Some(version),
                disable_resumption: true,
                ..ClientOptions::default()
            }),
            name,
        )
    })
}

#[test]
fn both_versions_are_negotiated_and_reported() {
    let authority = Authority::new();
    let server = authority.server();
    for (client, name) in versions(&authority) {
        let (mut client_end, mut server_end) = connected(&client, &server);
        assert_exchange(&mut client_end, &mut server_end);
        let info = client_end.session.handshake_info().unwrap();
        assert!(info.protocol.starts_with(name) && !info.resumed, "{info:?}");
        assert_eq!(Some(info), server_end.session.handshake_info());
    }
    let (client_end, _) = connected(&authority.client(ClientOptions::default()), &server);
    assert!(client_end.session.handshake_info().unwrap().protocol.starts_with("TLS 1.3 "));
}

#[test]
fn handshakes_do_not_depend_on_splits() {
    let authority = Authority::new();
    let server = authority.server();
    for (client, _) in versions(&authority) {
        let (mut client_end, mut server_end) = pair(&client, &server);
        let mut longest = 0;
        transfer(&mut client_end, &mut server_end, |bytes| {
            longest = longest.max(bytes.len());
            whole(bytes)
        });
        // Signatures vary in length by a few bytes.
        for at in 0..longest + 8 {
            let (mut client_end, mut server_end) = pair(&client, &server);
            transfer(&mut client_end, &mut server_end, |bytes| {
                let (head, tail) = bytes.split_at(at.min(bytes.len()));
                vec![head.to_vec(), tail.to_vec()]
            });
            assert_exchange(&mut client_end, &mut server_end);
        }
        let (mut client_end, mut server_end) = pair(&client, &server);
        transfer(&mut client_end, &mut server_end, |bytes| bytes.iter().map(|byte| vec![*byte]).collect());
        assert_exchange(&mut client_end, &mut server_end);
    }
}

#[test]
fn large_texts_arrive_complete_in_pieces_of_any_size() {
    let authority = Authority::new();
    let text: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
    for (client, _) in versions(&authority) {
        let (mut client_end, mut server_end) = connected(&client, &authority.server());
        client_end.session.encrypt(&text, &mut client_end.out).unwrap();
        server_end.session.encrypt(&text, &mut server_end.out).unwrap();
        let mut size = 1;
        transfer(&mut client_end, &mut server_end, |bytes| {
            let mut pieces = Vec::new();
            let mut rest = bytes;
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(size.min(rest.len()));
                pieces.push(piece.to_vec());
                (rest, size) = (more, size % 5000 + 611);
            }
            pieces
        });
        assert_eq!((client_end.error, server_end.error), (None, None));
        assert!(client_end.received == text && server_end.received == text);
    }
}

#[test]
fn sessions_are_resumed_unless_resumption_is_disabled() {
    let authority = Authority::new();
    let server = authority.server();
    for version in [Version::Tls12, Version::Tls13] {
        for disable_resumption in [false, true] {
            let client = authority.client(ClientOptions {
                version: Some(version),
                disable_resumption,
                ..ClientOptions::default()
            });
            for turn in 0..3 {
                let (mut client_end, mut server_end) = connected(&client, &server);
                assert_exchange(&mut client_end, &mut server_end);
                let resumed = client_end.session.handshake_info().unwrap().resumed;
                assert_eq!(resumed, turn > 0 && !disable_resumption, "{version:?}, turn {turn}");
                assert_eq!(server_end.session.handshake_info().unwrap().resumed, resumed);
            }
        }
    }
}

#[test]
fn connectors_of_one_name_do_not_share_sessions() {
    let authority = Authority::new();
    let clients =
        ClientConfig::new(&ClientOptions { trust: Trust::File(authority.file("ca.pem")), ..ClientOptions::default() })
            .unwrap();
    let (first, second) = (authority.server(), authority.server());
    let (to_first, to_second) = (clients.connector("localhost").unwrap(), clients.connector("localhost").unwrap());
    connected(&to_first, &first);
    let (client_end, _) = connected(&to_second, &second);
    assert!(!client_end.session.handshake_info().unwrap().resumed);
    let (client_end, _) = connected(&to_first, &first);
    assert!(client_end.session.handshake_info().unwrap().resumed);
}

#[test]
fn a_self_signed_certificate_is_accepted_by_clients_that_trust_it() {
    let authority = Authority::new();
    let own = Identity::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let server = Acceptor::new(&own, None).unwrap();
    std::fs::write(authority.file("made.pem"), own.certificates_pem()).unwrap();
    std::fs::write(authority.file("made.key"), own.key_pem()).unwrap();
    for trust in [Trust::Insecure, Trust::File(authority.file("made.pem"))] {
        let clients = ClientConfig::new(&ClientOptions { trust, ..ClientOptions::default() }).unwrap();
        for name in ["localhost", "127.0.0.1"] {
            let (mut client_end, mut server_end) = connected(&clients.connector(name).unwrap(), &server);
            assert_exchange(&mut client_end, &mut server_end);
        }
    }
    let again = Identity::read(&authority.file("made.pem"), &authority.file("made.key")).unwrap();
    assert_eq!(again.fingerprint(), own.fingerprint());
    assert_eq!(own.fingerprint().split(':').count(), 32);
    assert_ne!(Identity::self_signed(&["localhost".to_owned()]).unwrap().fingerprint(), own.fingerprint());
}

#[test]
fn a_client_certificate_is_sent_on_request() {
    let authority = Authority::new();
    let server =
        Acceptor::new(&authority.signed("localhost", Validity::Current), Some(&authority.file("ca.pem"))).unwrap();
    for version in [Version::Tls12, Version::Tls13] {
        let identity = Some(authority.signed("client", Validity::Current));
        let client = authority.client(ClientOptions { identity, version: Some(version), ..ClientOptions::default() });
        assert!(!client.was_certificate_requested());
        let (mut client_end, mut server_end) = connected(&client, &server);
        assert_exchange(&mut client_end, &mut server_end);
        assert!(client.was_certificate_requested());
    }
}
