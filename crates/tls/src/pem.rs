//! Certificates and keys as files have them. A mistake is one line that names the file and what should be in it.

use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::pki_types::{
    CertificateDer, PrivateKeyDer,
    pem::{self, PemObject},
};
use std::{fmt::Display, path::Path};

/// Larger files hold no certificates.
const LARGEST: u64 = 16 << 20;

/// All certificates in a file, at least one.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(file)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(about(file, &"it has no certificate (-----BEGIN CERTIFICATE-----)")),
        Err(error) => Err(about(file, &error)),
    }
}

/// The first private key in a file.
pub fn key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let bytes = read(file)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| match error {
        pem::Error::NoItemsFound if bytes.windows(9).any(|part| part == b"ENCRYPTED") => {
            about(file, &"its key has a passphrase: take that away (openssl pkey -in FILE -out PLAIN)")
        }
        pem::Error::NoItemsFound => about(file, &"it has no private key (-----BEGIN PRIVATE KEY-----)"),
        error => about(file, &error),
    })
}

/// Bytes of that kind (`CERTIFICATE`, `PRIVATE KEY`) as a file has them (RFC 7468).
pub fn as_pem(kind: &str, bytes: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {kind}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text + &format!("-----END {kind}-----\n")
}

/// What is wrong with a file.
pub fn about(file: &Path, why: &dyn Display) -> String {
    format!("'{}' cannot be used for TLS: {why}", file.display())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let facts = std::fs::metadata(file).map_err(|error| about(file, &error))?;
    if facts.len() > LARGEST {
        return Err(about(file, &format!("it has {} bytes, which is no certificate or key", facts.len())));
    }
    std::fs::read(file).map_err(|error| about(file, &error))
}
