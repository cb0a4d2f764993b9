//! Handshakes that come to nothing: why, in one line, and what it is about.

use crate::scene::{End, Odd, Scene, carry, met, pair, whole};
use brunt_tls::{Acceptor, Cause, ClientConfig, ClientOptions, Identity, TlsError, Trust, Version};

#[track_caller]
fn about(fault: Option<TlsError>, cause: Cause, needles: &[&str]) {
    let fault = fault.expect("a fault");
    let text = fault.to_string();
    assert_eq!(fault.cause, cause, "{text}");
    assert!(needles.iter().all(|needle| text.contains(needle)) && !text.contains('\n'), "{text}");
}

#[test]
fn bad_server_certificates_are_reported_to_both_ends() {
    let scene = Scene::new();
    let client = scene.client(ClientOptions::default());
    for (identity, cause, needle) in [
        (scene.signed("localhost", Odd::Expired), Cause::Expired, "expired "),
        (scene.signed("localhost", Odd::NotYet), Cause::Expired, "not valid for another "),
        (scene.signed("other.example", Odd::No), Cause::Name, "for other.example and not for localhost"),
        (Identity::self_signed(&["localhost".to_owned()]).unwrap(), Cause::Untrusted, "no trusted issuer"),
    ] {
        let (one, other) = met(&client, &Acceptor::new(&identity, None).unwrap());
        about(one.fault, cause, &["its certificate", needle]);
        // The alert tells the server, too.
        about(other.fault, Cause::Identity, &["rejects"]);
    }
}

#[test]
fn an_insecure_client_accepts_any_certificate() {
    let scene = Scene::new();
    let client = scene.client(ClientOptions { trust: Trust::Insecure, ..ClientOptions::default() });
    for identity in [
        scene.signed("localhost", Odd::Expired),
        scene.signed("other.example", Odd::No),
        Identity::self_signed(&["x".to_owned()]).unwrap(),
    ] {
        let (one, other) = met(&client, &Acceptor::new(&identity, None).unwrap());
        assert_eq!((one.fault, other.fault), (None, None));
    }
}

#[test]
fn a_missing_or_untrusted_client_certificate_is_reported() {
    let scene = Scene::new();
    let server = Acceptor::new(&scene.signed("localhost", Odd::No), Some(&scene.file("ca.pem"))).unwrap();
    let stranger = Identity::self_signed(&["stranger".to_owned()]).unwrap();
    for version in [Version::Tls12, Version::Tls13] {
        for (identity, needle) in
            [(None, "requires a client certificate"), (Some(stranger.clone()), "rejects the client's certificate")]
        {
            let client = scene.client(ClientOptions { identity, version: Some(version), ..ClientOptions::default() });
            let (one, other) = met(&client, &server);
            assert!(client.was_certificate_requested() && other.fault.is_some());
            about(one.fault, Cause::Identity, &[needle]);
        }
    }
}

#[test]
fn input_that_is_not_tls_is_reported_as_such() {
    let scene = Scene::new();
    let (client, server) = (scene.client(ClientOptions::default()), scene.server());
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\0\0\0\0\0\0\0", b"SSH-2.0-x\r\n", &[0xff; 3000]] {
        let (mut one, _) = pair(&client, &server);
        one.take(bytes);
        about(one.fault, Cause::NoTls, &["does not speak TLS"]);
    }
    let (_, mut other) = pair(&client, &server);
    other.take(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    about(other.fault, Cause::NoTls, &[]);
    assert!(!other.out.is_empty(), "an alert");
}

#[test]
fn a_partial_handshake_message_is_waited_for() {
    let scene = Scene::new();
    let (one, mut other) = pair(&scene.client(ClientOptions::default()), &scene.server());
    for at in 0..one.out.len() {
        let (_, mut fresh) = pair(&scene.client(ClientOptions::default()), &scene.server());
        if at % 40 == 0 {
            fresh.take(&one.out[..at]);
            assert!(fresh.fault.is_none() && fresh.out.is_empty() && fresh.session.is_handshaking());
            assert!(fresh.session.handshake_info().is_none() && fresh.session.encrypt(b"x", &mut Vec::new()).is_err());
        }
    }
    other.take(&one.out);
    assert!(!other.out.is_empty());
}

#[test]
fn a_greeting_without_end_is_not_kept_for_ever() {
    let scene = Scene::new();
    let (_, mut other) = pair(&scene.client(ClientOptions::default()), &scene.server());
    // Records of a greeting that announces 16 MiB.
    let mut record = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff];
    record.resize(5 + 0x4000, 0);
    for _ in 0..16 {
        other.take(&record);
    }
    assert!(other.fault.is_some());
}

#[test]
fn every_byte_that_is_changed_on_the_way_is_noticed() {
    let scene = Scene::new();
    let (client, server) = (scene.client(ClientOptions::default()), scene.server());
    let (mut one, mut other) = met(&client, &server);
    one.session.encrypt(b"a text that nobody else should write", &mut one.out).unwrap();
    let sealed = std::mem::take(&mut one.out);
    // Type and version of the header are the same for all and are not looked at (RFC 8446, 5.2).
    for at in 3..sealed.len() {
        let (mut one, mut other) = met(&client, &server);
        one.session.encrypt(b"a text that nobody else should write", &mut one.out).unwrap();
        one.out[at] ^= 1;
        let changed = std::mem::take(&mut one.out);
        other.take(&changed);
        // A length that has grown waits for what never comes.
        assert!(other.heard.is_empty() && (other.fault.is_some() || at < 5), "byte {at}");
    }
    other.take(&sealed);
    assert!(!other.heard.is_empty());
}

#[test]
fn versions_that_do_not_meet_say_so() {
    let scene = Scene::new();
    let clients = |version| scene.client(ClientOptions { version: Some(version), ..ClientOptions::default() });
    // A greeting of one version, an answer of the other.
    let (mut one, _) = pair(&clients(Version::Tls13), &scene.server());
    let (older, mut other) = pair(&clients(Version::Tls12), &scene.server());
    other.take(&older.out);
    let answer = std::mem::take(&mut other.out);
    one.take(&answer);
    assert!(one.fault.is_some());
}

#[test]
fn files_that_are_no_use_are_named_with_what_is_wrong() {
    let scene = Scene::new();
    let _ = scene.signed("localhost", Odd::No);
    let (own, key, ca) = (scene.file("own.pem"), scene.file("own.key"), scene.file("ca.pem"));
    std::fs::write(scene.file("empty"), "").unwrap();
    std::fs::write(scene.file("broken"), "-----BEGIN CERTIFICATE-----\n!\n").unwrap();
    std::fs::write(
        scene.file("secret"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .unwrap();
    let read = |certificate: &str, key: &str| Identity::read(&scene.file(certificate), &scene.file(key)).unwrap_err();
    for (why, needles) in [
        (read("none.pem", "own.key"), ["none.pem", "No such file"]),
        (read("empty", "own.key"), ["empty", "no certificate"]),
        (read("own.key", "own.key"), ["own.key", "no certificate"]),
        (read("broken", "own.key"), ["broken", ""]),
        (read("own.pem", "own.pem"), ["own.pem", "no private key"]),
        (read("own.pem", "secret"), ["secret", "passphrase"]),
        (Acceptor::new(&Identity::read(&ca, &key).unwrap(), None).unwrap_err(), ["ca.pem", "own.key"]),
        (
            Acceptor::new(&Identity::read(&own, &key).unwrap(), Some(&scene.file("empty"))).unwrap_err(),
            ["empty", "no certificate"],
        ),
        (
            ClientConfig::new(&ClientOptions { trust: Trust::File(scene.file("empty")), ..ClientOptions::default() })
                .unwrap_err(),
            ["empty", "no certificate"],
        ),
    ] {
        assert!(needles.iter().all(|needle| why.contains(needle)) && !why.contains('\n'), "{why}");
    }
    let clients = ClientConfig::new(&ClientOptions { trust: Trust::Insecure, ..ClientOptions::default() }).unwrap();
    assert!(clients.connector("not a name").unwrap_err().contains("'not a name'"));
}

#[test]
fn the_alert_of_a_fault_reaches_the_other_end() {
    let scene = Scene::new();
    let (mut one, mut other) = met(&scene.client(ClientOptions::default()), &scene.server());
    let said = |end: &End| end.out.len();
    other.take(b"\x17\x03\x03\x00\x20this is none of the records here!");
    assert!(other.fault.is_some() && said(&other) > 0);
    carry(&mut one, &mut other, whole);
    about(one.fault, Cause::Other, &["BadRecordMac"]);
}
