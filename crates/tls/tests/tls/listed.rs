//! Servers whose own certificate is in the file of trusted ones.

use crate::authority::connected;
use brunt_tls::{Acceptor, Cause, ClientConfig, ClientOptions, Identity, TlsError, Trust, Version, encode_pem};
use rcgen::{BasicConstraints, CertificateParams, DnType, DnValue, IsCa, KeyPair, date_time_ymd};
use std::path::Path;

/// A certificate that signs itself, as `openssl req -x509` makes it, in `name.pem` and `name.key`.
fn own(dir: &Path, name: &str, change: impl Fn(&mut CertificateParams)) -> Identity {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let file = |end: &str| dir.join(format!("{name}.{end}"));
    std::fs::write(file("pem"), encode_pem("CERTIFICATE", params.self_signed(&key).unwrap().der())).unwrap();
    std::fs::write(file("key"), encode_pem("PRIVATE KEY", &key.serialize_der())).unwrap();
    Identity::read(&file("pem"), &file("key")).unwrap()
}

fn called(params: &mut CertificateParams, common_name: &str) {
    params.distinguished_name.push(DnType::OrganizationName, "x");
    params.distinguished_name.push(DnType::CommonName, DnValue::Utf8String(common_name.to_owned()));
}

fn names(params: &mut CertificateParams, name: &str) {
    params.subject_alt_names = CertificateParams::new(vec![name.to_owned()]).unwrap().subject_alt_names;
}

/// The error of a client of `host` that trusts what is in this file.
fn error(server: &Identity, file: &Path, host: &str, version: Version) -> Option<TlsError> {
    let options =
        ClientOptions { trust: Trust::File(file.to_owned()), version: Some(version), ..ClientOptions::default() };
    let client = ClientConfig::new(&options).unwrap().connector(host).unwrap();
    connected(&client, &Acceptor::new(server, None).unwrap()).0.error
}

#[test]
fn a_listed_certificate_needs_no_issuer_but_its_dates_and_its_name() {
    let dir = tempfile::tempdir().unwrap();
    let own = |name: &str, change: &dyn Fn(&mut CertificateParams)| {
        (own(dir.path(), name, change), dir.path().join(format!("{name}.pem")))
    };
    let (plain, plain_file) = own("plain", &|params| names(params, "localhost"));
    let (bare, bare_file) = own("bare", &|params| called(params, "LocalHost"));
    let (leaf, leaf_file) = own("leaf", &|params| {
        called(params, "localhost");
        params.is_ca = IsCa::ExplicitNoCa;
    });
    let (expired, expired_file) = own("expired", &|params| {
        names(params, "localhost");
        params.not_after = date_time_ymd(2020, 1, 1);
    });
    let (both, both_file) = own("both", &|params| {
        names(params, "other.example");
        called(params, "localhost");
    });
    for version in [Version::Tls12, Version::Tls13] {
        let error =
            |server, file, host| error(server, file, host, version).map(|error| (error.cause, error.to_string()));
        assert_eq!(error(&plain, &plain_file, "localhost"), None);
        assert_eq!(error(&bare, &bare_file, "localhost"), None);
        assert_eq!(error(&leaf, &leaf_file, "localhost"), None);
        for (server, file, host, cause, needle) in [
            (&plain, &plain_file, "other.example", Cause::Name, "for localhost and not for other.example"),
            (&bare, &bare_file, "127.0.0.1", Cause::Name, "for no name and not for 127.0.0.1"),
            (&both, &both_file, "localhost", Cause::Name, "for other.example"),
            (&expired, &expired_file, "localhost", Cause::Expired, "expired "),
            (&plain, &bare_file, "localhost", Cause::Untrusted, "signs itself"),
            (&leaf, &plain_file, "localhost", Cause::Untrusted, "no trusted issuer"),
        ] {
            let (is, text) = error(server, file, host).expect(needle);
            assert!(is == cause && text.contains(needle), "{needle}: {text}");
        }
    }
}
