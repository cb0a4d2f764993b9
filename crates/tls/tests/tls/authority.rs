//! A certificate authority, certificates issued by it, and two ends connected in memory.

use brunt_tls::{Acceptor, ClientConfig, ClientOptions, Connector, Identity, Session, TlsError, Trust, encode_pem};
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};
use std::path::PathBuf;
use tempfile::TempDir;

/// A certificate authority with a directory for its files and those of the certificates that it issues.
pub struct Authority {
    dir: TempDir,
    issuer: Issuer<'static, KeyPair>,
}

/// The validity period of a certificate.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Validity {
    Current,
    Expired,
    NotYet,
}

impl Authority {
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

    /// An identity with this name, issued by the authority.
    pub fn signed(&self, name: &str, validity: Validity) -> Identity {
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        match validity {
            Validity::Current => {}
            Validity::Expired => params.not_after = date_time_ymd(2020, 1, 1),
            Validity::NotYet => params.not_before = date_time_ymd(4000, 1, 1),
        }
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(self.file("own.pem"), encode_pem("CERTIFICATE", certificate.der())).unwrap();
        std::fs::write(self.file("own.key"), encode_pem("PRIVATE KEY", &key.serialize_der())).unwrap();
        Identity::read(&self.file("own.pem"), &self.file("own.key")).unwrap()
    }

    /// A client of `localhost` that trusts the authority.
    pub fn client(&self, asked: ClientOptions) -> Connector {
        let trust = if asked.trust == Trust::System { Trust::File(self.file("ca.pem")) } else { asked.trust };
        ClientConfig::new(&ClientOptions { trust, ..asked }).unwrap().connector("localhost").unwrap()
    }

    /// A server with a certificate for `localhost`, issued by the authority.
    pub fn server(&self) -> Acceptor {
        Acceptor::new(&self.signed("localhost", Validity::Current), None).unwrap()
    }
}

/// One end of a connection.
pub struct End {
    pub session: Session,
    pub received: Vec<u8>,
    pub error: Option<TlsError>,
    /// Bytes to be sent.
    pub out: Vec<u8>,
}

impl End {
    /// Receives these bytes, unless it has failed.
    pub fn take(&mut self, bytes: &[u8]) {
        if self.error.is_none() {
            let mut bytes = bytes.to_vec();
            self.error = self.session.receive(&mut bytes, &mut self.received, &mut self.out).err();
        }
    }
}

/// A client and a server before the handshake.
pub fn pair(client: &Connector, server: &Acceptor) -> (End, End) {
    let mut out = Vec::new();
    let session = Session::client(client, &mut out).unwrap();
    let client = End { session, received: Vec::new(), error: None, out };
    let session = Session::server(server).unwrap();
    (client, End { session, received: Vec::new(), error: None, out: Vec::new() })
}

/// Transfers bytes in both directions, in pieces made by `cut`, until none are left.
pub fn transfer(client: &mut End, server: &mut End, mut cut: impl FnMut(&[u8]) -> Vec<Vec<u8>>) {
    while !client.out.is_empty() || !server.out.is_empty() {
        let bytes = std::mem::take(&mut client.out);
        cut(&bytes).iter().for_each(|piece| server.take(piece));
        let bytes = std::mem::take(&mut server.out);
        cut(&bytes).iter().for_each(|piece| client.take(piece));
    }
}

/// Makes one piece.
pub fn whole(bytes: &[u8]) -> Vec<Vec<u8>> {
    vec![bytes.to_vec()]
}

/// A client and a server after the handshake, successful or not.
pub fn connected(client: &Connector, server: &Acceptor) -> (End, End) {
    let (mut client_end, mut server_end) = pair(client, server);
    transfer(&mut client_end, &mut server_end, whole);
    (client_end, server_end)
}
