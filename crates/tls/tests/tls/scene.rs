//! An authority, those it has signed, and two ends with nothing between them but bytes.

use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Connector, Identity, Session, TlsError, Trust, encode_pem};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use std::path::PathBuf;
use tempfile::TempDir;

/// Files of an authority's and of those it has signed.
pub struct Scene {
    dir: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// What is odd about a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Odd {
    No,
    Expired,
    NotYet,
}

impl Scene {
    pub fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::new(Vec::new()).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "an authority");
        let key = KeyPair::generate().unwrap();
        let certificate = params.self_signed(&key).unwrap();
        std::fs::write(dir.path().join("ca.pem"), encode_pem("CERTIFICATE", certificate.der())).unwrap();
        Self { dir, issuer: Issuer::new(params, key) }
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Somebody of that name whom the authority has signed.
    pub fn signed(&self, name: &str, odd: Odd) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        match odd {
            Odd::No => {}
            Odd::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            Odd::NotYet => params.not_before = date_time_ymd(4000, 1, 1),
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.file("own.pem"), encode_pem("CERTIFICATE", certificate.der())).unwrap();
        std::fs::write(self.file("own.key"), encode_pem("PRIVATE KEY", &key.serialize_der())).unwrap();
        Identity::read(&self.file("own.pem"), &self.file("own.key")).unwrap()
    }

    /// A client of `localhost` who trusts the authority.
    pub fn client(&self, asked: ClientOptions) -> Connector {
        let trust = if asked.trust == Trust::System { Trust::File(self.file("ca.pem")) } else { asked.trust };
        ClientConfig::new(&ClientOptions { trust, ..asked }).unwrap().connector("localhost").unwrap()
    }

    /// A server whose certificate the authority has signed for `localhost`.
    pub fn server(&self) -> Acceptor {
        Acceptor::new(&self.signed("localhost", Odd::No), None).unwrap()
    }
}

/// One end, and what it has heard.
pub struct End {
    pub session: Session,
    pub heard: Vec<u8>,
    pub fault: Option<TlsError>,
    /// On its way to the other end.
    pub out: Vec<u8>,
}

impl End {
    /// Takes these bytes, unless it has given up.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.fault.is_none() {
            let mut bytes = bytes.to_vec();
            self.fault = self.session.receive(&mut bytes, &mut self.heard, &mut self.out).err();
        }
    }
}

/// Both ends.
pub fn pair(client: &Connector, server: &Acceptor) -> (End, End) {
    let mut out = Vec::new();
    let session = Session::client(client, &mut out).unwrap();
    let client = End { session, heard: Vec::new(), fault: None, out };
    let session = Session::server(server).unwrap();
    (client, End { session, heard: Vec::new(), fault: None, out: Vec::new() })
}

/// Carries bytes both ways, in pieces that `cut` makes, until nobody has anything to say.
pub fn carry(client: &mut End, server: &mut End, mut cut: impl FnMut(&[u8]) -> Vec<Vec<u8>>) {
    while !client.out.is_empty() || !server.out.is_empty() {
        let said = std::mem::take(&mut client.out);
        cut(&said).iter().for_each(|piece| server.take(piece));
        let said = std::mem::take(&mut server.out);
        cut(&said).iter().for_each(|piece| client.take(piece));
    }
}

/// Uncut.
pub fn whole(bytes: &[u8]) -> Vec<Vec<u8>> {
    vec![bytes.to_vec()]
}

/// Ends that have shaken hands, or given up.
pub fn met(client: &Connector, server: &Acceptor) -> (End, End) {
    let (mut one, mut other) = pair(client, server);
    carry(&mut one, &mut other, whole);
    (one, other)
}
