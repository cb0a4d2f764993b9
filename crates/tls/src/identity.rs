//! Who one is: a certificate with those that lead from it to an authority, and its key; from files, or made here.

use crate::pem;
use rcgen::{CertificateParams, DistinguishedName, DnType, KeyPair};
use ring::digest::{SHA256, digest};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer};
use std::{fmt, path::Path, sync::Arc};

/// See the head of this file. Clones are one.
#[derive(Clone)]
pub struct Identity(Arc<Parts>);

struct Parts {
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
    /// Where it comes from, for errors.
    place: String,
}

impl Identity {
    /// The identity in two files, which may be the same.
    ///
    /// # Errors
    /// One line that names the file, what is wrong with it and what would do.
    pub fn read(certificate: &Path, key: &Path) -> Result<Self, String> {
        let place = format!("the certificate '{}' with the key '{}'", certificate.display(), key.display());
        let (chain, key) = (pem::certificates(certificate)?, pem::key(key)?);
        Ok(Self(Arc::new(Parts { chain, key, place })))
    }

    /// A new one for these names and addresses, signed by itself, so that nobody trusts it unasked; it does not expire.
    ///
    /// # Errors
    /// If one of them is no name that a certificate can have.
    pub fn own(names: &[String]) -> Result<Self, String> {
        let fault = |error| format!("no certificate can be made for {}: {error}", names.join(", "));
        let mut params = CertificateParams::new(names).map_err(fault)?;
        let key = KeyPair::generate().map_err(fault)?;
        // Whoever trusts one of them would take another of that name for a forgery.
        let own = hex(&digest(&SHA256, key.public_key_raw()).as_ref()[..8]).concat();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("brunt {own}"));
        let certificate = params.self_signed(&key).map_err(fault)?;
        let key = PrivatePkcs8KeyDer::from(key.serialize_der()).into();
        let place = "the certificate made here".to_owned();
        Ok(Self(Arc::new(Parts { chain: vec![certificate.into()], key, place })))
    }

    /// The SHA-256 of its certificate, as `openssl x509 -fingerprint -sha256` prints it.
    pub fn fingerprint(&self) -> String {
        let first = self.0.chain.first().map_or(&[][..], |certificate| certificate);
        hex(digest(&SHA256, first).as_ref()).join(":")
    }

    /// Its certificates as a file has them.
    pub fn certificates_pem(&self) -> String {
        self.0.chain.iter().map(|certificate| pem::as_pem("CERTIFICATE", certificate)).collect()
    }

    /// Its key as a file has it.
    pub fn key_pem(&self) -> String {
        let kind = match &self.0.key {
            PrivateKeyDer::Pkcs1(_) => "RSA PRIVATE KEY",
            PrivateKeyDer::Sec1(_) => "EC PRIVATE KEY",
            _ => "PRIVATE KEY",
        };
        pem::as_pem(kind, self.0.key.secret_der())
    }

    /// Certificate, chain and key.
    pub(crate) fn parts(&self) -> (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>) {
        (self.0.chain.clone(), self.0.key.clone_key())
    }

    /// What is wrong with it.
    pub(crate) fn fault(&self, error: &rustls::Error) -> String {
        format!("{} cannot be used for TLS: {error}", self.0.place)
    }
}

fn hex(bytes: &[u8]) -> Vec<String> {
    bytes.iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Without its key.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.0.place).finish()
    }
}

/// Two are equal if they are one.
impl PartialEq for Identity {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
