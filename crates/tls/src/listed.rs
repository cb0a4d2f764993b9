//! Servers whose own certificate is in the file of trusted ones, as curl and OpenSSL accept them.
//!
//! `openssl req -x509` makes a certificate that signs itself and is marked as that of an authority; such a one is never a server's by
//! the rules of the web, and a server's certificate alone has no issuer in the file. That it is listed takes the place of an issuer.
//! Dates, name and possession of the key are verified as always.

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{CertificateError, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::sync::Arc;

/// Verifies as [`WebPkiServerVerifier`] does, and accepts the certificates of the file.
#[derive(Debug)]
pub struct Listed {
    pub verifier: Arc<WebPkiServerVerifier>,
    pub certificates: Vec<CertificateDer<'static>>,
}

impl ServerCertVerifier for Listed {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        let verified = self.verifier.verify_server_cert(certificate, intermediates, name, ocsp, now);
        let Err(Error::InvalidCertificate(why)) = &verified else { return verified };
        if !self.certificates.iter().any(|listed| listed.as_ref() == certificate.as_ref()) {
            return verified;
        }
        // The dates are verified before the issuer, the name after it.
        let named = match why {
            why if is_unissued(why) => verify_server_name(&ParsedCertificate::try_from(certificate)?, name),
            CertificateError::NotValidForNameContext { .. } => Err(Error::InvalidCertificate(why.clone())),
            _ => return verified,
        };
        match named {
            // Without names, that of its subject counts.
            Err(Error::InvalidCertificate(CertificateError::NotValidForNameContext { presented, .. }))
                if presented.is_empty()
                    && common_name(certificate).is_some_and(|own| own.eq_ignore_ascii_case(&name.to_str())) =>
            {
                Ok(ServerCertVerified::assertion())
            }
            named => named.map(|()| ServerCertVerified::assertion()),
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verifier.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.verifier.supported_verify_schemes()
    }
}

/// Whether all that a certificate lacks is an issuer.
fn is_unissued(why: &CertificateError) -> bool {
    matches!(why, CertificateError::UnknownIssuer) || is_of_authority(why)
}

/// Whether a server has the certificate of an authority. rustls has no variant for it.
pub fn is_of_authority(why: &CertificateError) -> bool {
    matches!(why, CertificateError::Other(other) if format!("{other:?}").contains("CaUsedAsEndEntity"))
}

/// The last common name of the subject, as UTF-8.
fn common_name(certificate: &CertificateDer<'_>) -> Option<String> {
    // The type of an attribute (2.5.4.3), before its value: a tag, one byte of length and a text.
    const COMMON_NAME: [u8; 5] = [0x06, 0x03, 0x55, 0x04, 0x03];
    let mut parsed = RootCertStore::empty();
    parsed.add(certificate.clone().into_owned()).ok()?;
    let subject = parsed.roots.first()?.subject.as_ref();
    let at = subject.windows(COMMON_NAME.len()).rposition(|window| window == COMMON_NAME)?;
    let (length, text) = subject.get(at + COMMON_NAME.len() + 1..)?.split_first()?;
    String::from_utf8(text.get(..usize::from(*length))?.to_vec()).ok()
}
