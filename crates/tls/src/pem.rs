//! Certificates and keys in PEM files. Errors are one line that names the file and what is expected in it.

use base64::prelude::{BASE64_STANDARD, Engine};
use rustls::RootCertStore;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use std::{fmt::Display, path::Path};

/// Maximum size of a file, in bytes.
const MAX_FILE: u64 = 16 << 20;

/// All certificates in a file, at least one.
pub fn certificates(file: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let bytes = read(file)?;
    let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&bytes).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(unusable(file, &"it has no certificate (-----BEGIN CERTIFICATE-----)")),
        Err(error) => Err(unusable(file, &error)),
    }
}

/// The certificates in a file, as trust anchors.
pub fn roots(file: &Path) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(file)? {
        roots.add(certificate).map_err(|error| unusable(file, &error))?;
    }
    Ok(roots)
}

/// The first private key in a file.
pub fn key(file: &Path) -> Result<PrivateKeyDer<'static>, String> {
    let bytes = read(file)?;
    PrivateKeyDer::from_pem_slice(&bytes).map_err(|error| match error {
        pem::Error::NoItemsFound if bytes.windows(9).any(|part| part == b"ENCRYPTED") => {
            unusable(file, &"its key has a passphrase: remove it (openssl pkey -in FILE -out PLAIN)")
        }
        pem::Error::NoItemsFound => unusable(file, &"it has no private key (-----BEGIN PRIVATE KEY-----)"),
        error => unusable(file, &error),
    })
}

/// Encodes `bytes` under `label`, such as `CERTIFICATE` or `PRIVATE KEY` (RFC 7468).
pub fn encode_pem(label: &str, bytes: &[u8]) -> String {
    let encoded = BASE64_STANDARD.encode(bytes);
    let mut text = format!("-----BEGIN {label}-----\n");
    for line in encoded.as_bytes().chunks(64) {
        text.extend(line.iter().copied().map(char::from));
        text.push('\n');
    }
    text + &format!("-----END {label}-----\n")
}

/// The error for a file that cannot be used.
pub fn unusable(file: &Path, cause: &dyn Display) -> String {
    format!("'{}' cannot be used for TLS: {cause}", file.display())
}

fn read(file: &Path) -> Result<Vec<u8>, String> {
    let metadata = std::fs::metadata(file).map_err(|error| unusable(file, &error))?;
    if metadata.len() > MAX_FILE {
        return Err(unusable(file, &format!("it has {} bytes, too many for a certificate or key", metadata.len())));
    }
    std::fs::read(file).map_err(|error| unusable(file, &error))
}
