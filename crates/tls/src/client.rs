//! Configuration of clients: which servers are trusted, the client's certificate, and session resumption.

use crate::{Identity, PROTOCOL, listed::Listed, pem, provider};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{ResolvesClientCert, Resumption, WebPkiServerVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::sign::CertifiedKey;
use rustls::version::{TLS12, TLS13};
use rustls::{DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use std::{fmt, path::PathBuf, sync::Arc, sync::atomic::AtomicBool, sync::atomic::Ordering::Relaxed};

/// Sessions and tickets kept for each host.
const CACHED_SESSIONS: usize = 256;

/// Options of a [`ClientConfig`].
#[derive(Debug, Clone, Default)]
pub struct ClientOptions {
    pub trust: Trust,
    /// The client's certificate, sent to servers that request one.
    pub identity: Option<Identity>,
    /// The only version offered; `None` offers both.
    pub version: Option<Version>,
    /// Performs a full handshake on every connection.
    pub disable_resumption: bool,
}

/// Which server certificates are accepted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those issued by the certificate authorities of this machine.
    #[default]
    System,
    /// Those issued by the certificate authorities in this file, and those in it.
    File(PathBuf),
    /// All. The peer's possession of the key is still verified, so that a handshake costs the same.
    Insecure,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// RFC 5246.
    Tls12,
    /// RFC 8446.
    Tls13,
}

/// The configuration for all hosts.
#[derive(Debug)]
pub struct ClientConfig {
    config: rustls::ClientConfig,
    certificate_requested: Arc<AtomicBool>,
    disable_resumption: bool,
}

/// The configuration for one host, with its session cache. Cheap to clone; clones share both.
#[derive(Clone)]
pub struct Connector(pub(crate) Arc<Host>);

pub(crate) struct Host {
    pub(crate) config: Arc<rustls::ClientConfig>,
    pub(crate) name: ServerName<'static>,
    text: String,
    certificate_requested: Arc<AtomicBool>,
}

impl ClientConfig {
    /// Reads the certificates that `options` names. Errors are one line with the file, the cause and the remedy.
    pub fn new(options: &ClientOptions) -> Result<Self, String> {
        let provider = provider();
        let versions = match options.version {
            None => &[&TLS13, &TLS12][..],
            Some(Version::Tls12) => &[&TLS12],
            Some(Version::Tls13) => &[&TLS13],
        };
        let builder = rustls::ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_protocol_versions(versions).map_err(|error| error.to_string())?.dangerous();
        let builder = builder.with_custom_certificate_verifier(verifier(&options.trust, &provider)?);
        let certificate_requested = Arc::new(AtomicBool::new(false));
        let certified = |identity: &Identity| {
            let (chain, key) = identity.parts();
            CertifiedKey::from_der(chain, key, &provider).map(Arc::new).map_err(|error| identity.unusable(&error))
        };
        let key = options.identity.as_ref().map(certified).transpose()?;
        let resolver = CertResolver { key, certificate_requested: Arc::clone(&certificate_requested) };
        let mut config = builder.with_client_cert_resolver(Arc::new(resolver));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self { config, certificate_requested, disable_resumption: options.disable_resumption })
    }

    /// The configuration for the host with this name or address, which is sent as SNI and must be in its certificate.
    /// Sessions are cached for this host alone.
    pub fn connector(&self, host: &str) -> Result<Connector, String> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| format!("'{}' is no name that a certificate can have", host.escape_debug()))?;
        let mut config = self.config.clone();
        config.resumption = match self.disable_resumption {
            true => Resumption::disabled(),
            false => Resumption::in_memory_sessions(CACHED_SESSIONS),
        };
        let certificate_requested = Arc::clone(&self.certificate_requested);
        Ok(Connector(Arc::new(Host { config: Arc::new(config), name, text: host.to_owned(), certificate_requested })))
    }
}

impl Connector {
    pub fn host(&self) -> &str {
        &self.0.text
    }

    /// Whether any server has requested a client certificate. In TLS 1.3 a server rejects the certificate only after
    /// the client's handshake is complete.
    pub fn was_certificate_requested(&self) -> bool {
        self.0.certificate_requested.load(Relaxed)
    }
}

impl fmt::Debug for Connector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Connector").field(&self.0.text).finish()
    }
}

/// Identity, not contents.
impl PartialEq for Connector {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn verifier(trust: &Trust, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let (mut roots, mut certificates) = (RootCertStore::empty(), Vec::new());
    let source = match trust {
        Trust::Insecure => return Ok(Arc::new(AcceptAll(Arc::clone(provider)))),
        Trust::System => {
            let found = rustls_native_certs::load_native_certs();
            // Certificates that cannot be read are skipped.
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("this machine has no certificates of authorities (apt install ca-certificates)".to_owned());
            }
            "the certificates of this machine".to_owned()
        }
        Trust::File(file) => {
            roots = pem::roots(file)?;
            certificates = pem::certificates(file)?;
            format!("'{}'", file.display())
        }
    };
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    let verifier = verifier.map_err(|error| format!("{source} cannot be used for TLS: {error}"))?;
    Ok(Arc::new(Listed { verifier, certificates }))
}

/// Sends the client's certificate on request, and records that it was requested.
#[derive(Debug)]
struct CertResolver {
    key: Option<Arc<CertifiedKey>>,
    certificate_requested: Arc<AtomicBool>,
}

impl ResolvesClientCert for CertResolver {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.certificate_requested.store(true, Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        // rustls calls `resolve` only if this is true.
        true
    }
}

/// Accepts every certificate whose key the peer has.
#[derive(Debug)]
struct AcceptAll(Arc<CryptoProvider>);

impl ServerCertVerifier for AcceptAll {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
