use crate::pem;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use ring::digest::{SHA256, digest};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::{fmt, path::Path, sync::Arc};

/// A certificate chain and its private key, from files or self-signed. Cheap to clone.
#[derive(Clone)]
pub struct Identity(Arc<Parts>);

struct Parts {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Where it comes from, for errors.
    source: String,
}

impl Identity {
    /// Reads both files, which may be the same. Errors are one line with the file, the cause and the remedy.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let source = format!("the certificate '{}' with the key '{}'", certificate.display(), key.display());
        let (chain, key) = (pem::certificates(certificate)?, pem::key(key)?);
        Ok(Self(Arc::new(Parts { chain, key, source })))
    }

    /// Generates a key and a self-signed certificate for these names and addresses, which does not expire.
    pub fn self_signed(names: &[String]) -> Result<Self, String> {
        let error = |error| format!("no certificate can be made for {}: {error}", names.join(", "));
        let mut params = CertificateParams::new(names).map_err(error)?;
        let key = KeyPair::generate().map_err(error)?;
        // Unique, because a client that trusts one such certificate would reject another with the same subject.
        let id = hex(&digest(&SHA256, key.public_key_raw()).as_ref()[..8]).concat();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("brunt {id}"));
        let certificate = params.self_signed(&key).map_err(error)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let source = "the self-signed certificate".to_owned();
        Ok(Self(Arc::new(Parts { chain: vec![certificate.into()], key, source })))
    }

    /// The SHA-256 of the certificate, as `openssl x509 -fingerprint -sha256` prints it.
    pub fn fingerprint(&self) -> String {
        let first = self.0.chain.first().map_or(&[][..], |certificate| certificate);
        hex(digest(&SHA256, first).as_ref()).join(":")
    }

    pub fn certificates_pem(&self) -> String {
        self.0.chain.iter().map(|certificate| pem::encode_pem("CERTIFICATE", certificate)).collect()
    }

    pub fn key_pem(&self) -> String {
        let label = match &self.0.key {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        pem::encode_pem(label, self.0.key.secret_der())
    }

    pub(crate) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.0.chain.clone(), self.0.key.clone_key())
    }

    /// The error for an identity that rustls rejects.
    pub(crate) fn unusable(&self, error: &rustls::Error) -> String {
        format!("{} cannot be used for TLS: {error}", self.0.source)
    }
}

fn hex(bytes: &[u8]) -> Vec<String> {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Omits the key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.0.source).finish()
    }
}
