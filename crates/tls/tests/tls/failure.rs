//! Handshakes that fail, with the cause and a one-line error.

use crate::authority::{Authority, Validity, connected, pair, transfer, whole};
use brunt_tls::{Acceptor, Cause, ClientConfig, ClientOptions, Identity, TlsError, Trust, Version};

#[track_caller]
fn assert_cause(error: Option<TlsError>, cause: Cause, needles: &[&str]) {
    let error = error.expect("an error");
    let text = error.to_string();
    assert_eq!(error.cause, cause, "{text}");
    assert!(needles.iter().all(|needle| text.contains(needle)) && !text.contains('\n'), "{text}");
}

#[test]
fn bad_server_certificates_are_reported_to_both_ends() {
    let authority = Authority::new();
    let client = authority.client(ClientOptions::default());
    for (identity, cause, needle) in [
        (authority.signed("localhost", Validity::Expired), Cause::Expired, "expired "),
        (authority.signed("localhost", Validity::NotYet), Cause::Expired, "not valid for another "),
        (authority.signed("other.example", Validity::Current), Cause::Name, "for other.example and not for localhost"),
        (Identity::self_signed(&["localhost".to_owned()]).unwrap(), Cause::Untrusted, "no trusted issuer"),
    ] {
        let (client_end, server_end) = connected(&client, &Acceptor::new(&identity, None).unwrap());
        assert_cause(client_end.error, cause, &["its certificate", needle]);
        // The server learns it from the alert.
        assert_cause(server_end.error, Cause::Identity, &["rejects"]);
    }
}

#[test]
fn an_insecure_client_accepts_any_certificate() {
    let authority = Authority::new();
    let client = authority.client(ClientOptions { trust: Trust::Insecure, ..ClientOptions::default() });
    for identity in [
        authority.signed("localhost", Validity::Expired),
        authority.signed("other.example", Validity::Current),
        Identity::self_signed(&["x".to_owned()]).unwrap(),
    ] {
        let (client_end, server_end) = connected(&client, &Acceptor::new(&identity, None).unwrap());
        assert_eq!((client_end.error, server_end.error), (None, None));
    }
}

#[test]
fn a_missing_or_untrusted_client_certificate_is_reported() {
    let authority = Authority::new();
    let server =
        Acceptor::new(&authority.signed("localhost", Validity::Current), Some(&authority.file("ca.pem"))).unwrap();
    let untrusted = Identity::self_signed(&["stranger".to_owned()]).unwrap();
    for version in [Version::Tls12, Version::Tls13] {
        for (identity, needle) in
            [(None, "requires a client certificate"), (Some(untrusted.clone()), "rejects the client's certificate")]
        {
            let client =
                authority.client(ClientOptions { identity, version: Some(version), ..ClientOptions::default() });
            let (client_end, server_end) = connected(&client, &server);
            assert!(client.was_certificate_requested() && server_end.error.is_some());
            assert_cause(client_end.error, Cause::Identity, &[needle]);
        }
    }
}

#[test]
fn input_that_is_not_tls_is_reported_as_such() {
    let authority = Authority::new();
    let (client, server) = (authority.client(ClientOptions::default()), authority.server());
    for bytes in [&b"HTTP/1.1 400 Bad Request\r\n\r\n"[..], b"\0\0\0\0\0\0\0", b"SSH-2.0-x\r\n", &[0xff; 3000]] {
        let (mut client_end, _) = pair(&client, &server);
        client_end.take(bytes);
        assert_cause(client_end.error, Cause::NoTls, &["does not speak TLS"]);
    }
    let (_, mut server_end) = pair(&client, &server);
    server_end.take(b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    assert_cause(server_end.error, Cause::NoTls, &[]);
    assert!(!server_end.out.is_empty(), "an alert");
}

#[test]
fn a_partial_handshake_message_is_kept() {
    let authority = Authority::new();
    let (client_end, mut server_end) = pair(&authority.client(ClientOptions::default()), &authority.server());
    for at in 0..client_end.out.len() {
        let (_, mut fresh) = pair(&authority.client(ClientOptions::default()), &authority.server());
        if at % 40 == 0 {
            fresh.take(&client_end.out[..at]);
            assert!(fresh.error.is_none() && fresh.out.is_empty() && fresh.session.is_handshaking());
            assert!(fresh.session.handshake_info().is_none() && fresh.session.encrypt(b"x", &mut Vec::new()).is_err());
        }
    }
    server_end.take(&client_end.out);
    assert!(!server_end.out.is_empty());
}

#[test]
fn an_endless_handshake_message_is_an_error() {
    let authority = Authority::new();
    let (_, mut server_end) = pair(&authority.client(ClientOptions::default()), &authority.server());
    // Records of a handshake message that announces 16 MiB.
    let mut record = vec![22, 3, 1, 0x40, 0, 1, 0xff, 0xff, 0xff];
    record.resize(5 + 0x4000, 0);
    for _ in 0..16 {
        server_end.take(&record);
    }
    assert!(server_end.error.is_some());
}

#[test]
fn every_changed_byte_is_detected() {
    let authority = Authority::new();
    let (client, server) = (authority.client(ClientOptions::default()), authority.server());
    let (mut client_end, mut server_end) = connected(&client, &server);
    client_end.session.encrypt(b"a text that must not be changed", &mut client_end.out).unwrap();
    let sealed = std::mem::take(&mut client_end.out);
    // Type and version of the header are fixed and not checked (RFC 8446, 5.2).
    for at in 3..sealed.len() {
        let (mut client_end, mut server_end) = connected(&client, &server);
        client_end.session.encrypt(b"a text that must not be changed", &mut client_end.out).unwrap();
        client_end.out[at] ^= 1;
        let changed = std::mem::take(&mut client_end.out);
        server_end.take(&changed);
        // With a larger length, the record is incomplete.
        assert!(server_end.received.is_empty() && (server_end.error.is_some() || at < 5), "byte {at}");
    }
    server_end.take(&sealed);
    assert!(!server_end.received.is_empty());
}

#[test]
fn a_mismatch_of_versions_is_an_error() {
    let authority = Authority::new();
    let clients = |version| authority.client(ClientOptions { version: Some(version), ..ClientOptions::default() });
    // A ClientHello of one version and a ServerHello of the other.
    let (mut client_end, _) = pair(&clients(Version::Tls13), &authority.server());
    let (older, mut server_end) = pair(&clients(Version::Tls12), &authority.server());
    server_end.take(&older.out);
    let answer = std::mem::take(&mut server_end.out);
    client_end.take(&answer);
    assert!(client_end.error.is_some());
}

#[test]
fn unusable_files_are_named_with_the_cause() {
    let authority = Authority::new();
    let _ = authority.signed("localhost", Validity::Current);
    let (own, key, ca) = (authority.file("own.pem"), authority.file("own.key"), authority.file("ca.pem"));
    std::fs::write(authority.file("empty"), "").unwrap();
    std::fs::write(authority.file("broken"), "-----BEGIN CERTIFICATE-----\n!\n").unwrap();
    std::fs::write(
        authority.file("secret"),
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n",
    )
    .unwrap();
    let read =
        |certificate: &str, key: &str| Identity::read(&authority.file(certificate), &authority.file(key)).unwrap_err();
    for (why, needles) in [
        (read("none.pem", "own.key"), ["none.pem", "No such file"]),
        (read("empty", "own.key"), ["empty", "no certificate"]),
        (read("own.key", "own.key"), ["own.key", "no certificate"]),
        (read("broken", "own.key"), ["broken", ""]),
        (read("own.pem", "own.pem"), ["own.pem", "no private key"]),
        (read("own.pem", "secret"), ["secret", "passphrase"]),
        (Acceptor::new(&Identity::read(&ca, &key).unwrap(), None).unwrap_err(), ["ca.pem", "own.key"]),
        (
            Acceptor::new(&Identity::read(&own, &key).unwrap(), Some(&authority.file("empty"))).unwrap_err(),
            ["empty", "no certificate"],
        ),
        (
            ClientConfig::new(&ClientOptions {
                trust: Trust::File(authority.file("empty")),
                ..ClientOptions::default()
            })
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
fn the_alert_of_an_error_reaches_the_peer() {
    let authority = Authority::new();
    let (mut client_end, mut server_end) = connected(&authority.client(ClientOptions::default()), &authority.server());
    server_end.take(b"\x17\x03\x03\x00\x20this is none of the records here!");
    assert!(server_end.error.is_some() && !server_end.out.is_empty());
    transfer(&mut client_end, &mut server_end, whole);
    assert_cause(client_end.error, Cause::Other, &["BadRecordMac"]);
}
