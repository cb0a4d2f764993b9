//! Handshakes that come about, whatever happens to their bytes on the way.

use crate::scene::{End, Odd, Scene, carry, met, pair, whole};
use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Connector, Identity, Trust, Version};

fn say(from: &mut End, to: &mut End, text: &[u8]) {
    from.session.encrypt(text, &mut from.out).unwrap();
    carry(from, to, whole);
}

#[track_caller]
fn talk(client: &mut End, server: &mut End) {
    assert_eq!((client.fault.clone(), server.fault.clone()), (None, None));
    assert!(!client.session.is_handshaking() && !server.session.is_handshaking());
    say(client, server, b"who is there?");
    say(server, client, b"me");
    assert_eq!((&server.heard[..], &client.heard[..]), (&b"who is there?"[..], &b"me"[..]));
}

fn versions(scene: &Scene) -> [(Connector, &'static str); 2] {
    [(Version::Tls12, "TLS 1.2 "), (Version::Tls13, "TLS 1.3 ")].map(|(version, name)| {
        (
            scene.client(ClientOptions {
                version: Some(version),
                disable_resumption: true,
                ..ClientOptions::default()
            }),
            name,
        )
    })
}

#[test]
fn both_versions_come_about_and_say_which_they_are() {
    let scene = Scene::new();
    let server = scene.server();
    for (client, name) in versions(&scene) {
        let (mut one, mut other) = met(&client, &server);
        talk(&mut one, &mut other);
        let greeting = one.session.handshake_info().unwrap();
        assert!(greeting.protocol.starts_with(name) && !greeting.resumed, "{greeting:?}");
        assert_eq!(Some(greeting), other.session.handshake_info());
    }
    let (one, _) = met(&scene.client(ClientOptions::default()), &server);
    assert!(one.session.handshake_info().unwrap().protocol.starts_with("TLS 1.3 "));
}

#[test]
fn every_cut_of_every_flight_means_the_same() {
    let scene = Scene::new();
    let server = scene.server();
    for (client, _) in versions(&scene) {
        let (mut one, mut other) = pair(&client, &server);
        let mut longest = 0;
        carry(&mut one, &mut other, |bytes| {
            longest = longest.max(bytes.len());
            whole(bytes)
        });
        // A signature is now and then a byte longer.
        for at in 0..longest + 8 {
            let (mut one, mut other) = pair(&client, &server);
            carry(&mut one, &mut other, |bytes| {
                let (head, tail) = bytes.split_at(at.min(bytes.len()));
                vec![head.to_vec(), tail.to_vec()]
            });
            talk(&mut one, &mut other);
        }
        let (mut one, mut other) = pair(&client, &server);
        carry(&mut one, &mut other, |bytes| bytes.iter().map(|byte| vec![*byte]).collect());
        talk(&mut one, &mut other);
    }
}

#[test]
fn large_texts_arrive_whole_in_pieces_of_any_size() {
    let scene = Scene::new();
    let text: Vec<u8> = (0..200_000u32).map(|number| (number % 251) as u8).collect();
    for (client, _) in versions(&scene) {
        let (mut one, mut other) = met(&client, &scene.server());
        one.session.encrypt(&text, &mut one.out).unwrap();
        other.session.encrypt(&text, &mut other.out).unwrap();
        let mut size = 1;
        carry(&mut one, &mut other, |bytes| {
            let mut pieces = Vec::new();
            let mut rest = bytes;
            while !rest.is_empty() {
                let (piece, more) = rest.split_at(size.min(rest.len()));
                pieces.push(piece.to_vec());
                (rest, size) = (more, size % 5000 + 611);
            }
            pieces
        });
        assert_eq!((one.fault, other.fault), (None, None));
        assert!(one.heard == text && other.heard == text);
    }
}

#[test]
fn who_comes_again_is_known_unless_nothing_is_to_be_remembered() {
    let scene = Scene::new();
    let server = scene.server();
    for version in [Version::Tls12, Version::Tls13] {
        for disable_resumption in [false, true] {
            let client =
                scene.client(ClientOptions { version: Some(version), disable_resumption, ..ClientOptions::default() });
            for turn in 0..3 {
                let (mut one, mut other) = met(&client, &server);
                talk(&mut one, &mut other);
                let resumed = one.session.handshake_info().unwrap().resumed;
                assert_eq!(resumed, turn > 0 && !disable_resumption, "{version:?}, turn {turn}");
                assert_eq!(other.session.handshake_info().unwrap().resumed, resumed);
            }
        }
    }
}

#[test]
fn hosts_of_one_name_do_not_share_what_they_hand_out() {
    let scene = Scene::new();
    let clients =
        ClientConfig::new(&ClientOptions { trust: Trust::File(scene.file("ca.pem")), ..ClientOptions::default() })
            .unwrap();
    let (first, second) = (scene.server(), scene.server());
    let (to_first, to_second) = (clients.connector("localhost").unwrap(), clients.connector("localhost").unwrap());
    met(&to_first, &first);
    let (one, _) = met(&to_second, &second);
    assert!(!one.session.handshake_info().unwrap().resumed);
    let (one, _) = met(&to_first, &first);
    assert!(one.session.handshake_info().unwrap().resumed);
}

#[test]
fn a_certificate_made_here_is_good_for_whoever_is_told_of_it() {
    let scene = Scene::new();
    let own = Identity::self_signed(&["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let server = Acceptor::new(&own, None).unwrap();
    std::fs::write(scene.file("made.pem"), own.certificates_pem()).unwrap();
    std::fs::write(scene.file("made.key"), own.key_pem()).unwrap();
    for trust in [Trust::Insecure, Trust::File(scene.file("made.pem"))] {
        let clients = ClientConfig::new(&ClientOptions { trust, ..ClientOptions::default() }).unwrap();
        for name in ["localhost", "127.0.0.1"] {
            let (mut one, mut other) = met(&clients.connector(name).unwrap(), &server);
            talk(&mut one, &mut other);
        }
    }
    let again = Identity::read(&scene.file("made.pem"), &scene.file("made.key")).unwrap();
    assert_eq!(again.fingerprint(), own.fingerprint());
    assert_eq!(own.fingerprint().split(':').count(), 32);
    assert_ne!(Identity::self_signed(&["localhost".to_owned()]).unwrap().fingerprint(), own.fingerprint());
}

#[test]
fn a_client_is_known_by_its_certificate_where_one_is_wanted() {
    let scene = Scene::new();
    let server = Acceptor::new(&scene.signed("localhost", Odd::No), Some(&scene.file("ca.pem"))).unwrap();
    for version in [Version::Tls12, Version::Tls13] {
        let identity = Some(scene.signed("somebody", Odd::No));
        let client = scene.client(ClientOptions { identity, version: Some(version), ..ClientOptions::default() });
        assert!(!client.was_certificate_requested());
        let (mut one, mut other) = met(&client, &server);
        talk(&mut one, &mut other);
        assert!(client.was_certificate_requested());
    }
}
