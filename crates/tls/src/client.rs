//! A client's side: whom it trusts, who it is if somebody asks, and what it remembers of each host.

use crate::{Identity, PROTOCOL, pem, provider};
use rustls::{
    ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
    client::{
        ResolvesClientCert, Resumption, WebPkiServerVerifier,
        danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    },
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, ServerName, UnixTime},
    sign::CertifiedKey,
    version::{TLS12, TLS13},
};
use std::{
    fmt,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

/// Tickets and sessions remembered for each host.
const REMEMBERED: usize = 256;

/// What a client's side is made of.
#[derive(Debug, Clone, Default)]
pub struct Asked {
    /// Whose certificates are good.
    pub trust: Trust,
    /// Shown to servers that want to see it.
    pub identity: Option<Identity>,
    /// The only version to speak; both without it.
    pub version: Option<Version>,
    /// Shake hands in full each time.
    pub forget: bool,
}

/// Whose certificates are good.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Trust {
    /// Those of the authorities that this machine knows.
    #[default]
    System,
    /// Those of the authorities in a file, and no other.
    File(PathBuf),
    /// Anybody's. That the peer has the certificate's key is looked at all the same: the handshake costs what it costs.
    Anybody,
}

/// A version of TLS.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Version {
    /// TLS 1.2, RFC 5246.
    Tls12,
    /// TLS 1.3, RFC 8446.
    Tls13,
}

/// The client's side for all hosts.
#[derive(Debug)]
pub struct Clients {
    config: ClientConfig,
    wanted: Arc<AtomicBool>,
    forget: bool,
}

/// The client's side for one host. Clones are one.
#[derive(Clone)]
pub struct Client(Arc<Host>);

struct Host {
    config: Arc<ClientConfig>,
    name: ServerName<'static>,
    text: String,
    wanted: Arc<AtomicBool>,
}

impl Clients {
    /// Reads what has to be read.
    ///
    /// # Errors
    /// One line that names the file, what is wrong with it and what would do.
    pub fn new(asked: &Asked) -> Result<Self, String> {
        let provider = provider();
        let versions = match asked.version {
            None => &[&TLS13, &TLS12][..],
            Some(Version::Tls12) => &[&TLS12],
            Some(Version::Tls13) => &[&TLS13],
        };
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_protocol_versions(versions);
        let builder = builder.map_err(|error| error.to_string())?.dangerous();
        let builder = builder.with_custom_certificate_verifier(verifier(&asked.trust, &provider)?);
        let wanted = Arc::new(AtomicBool::new(false));
        let key = asked.identity.as_ref().map(|identity| certified(identity, &provider)).transpose()?;
        let own = Own { key, wanted: Arc::clone(&wanted) };
        let mut config = builder.with_client_cert_resolver(Arc::new(own));
        config.alpn_protocols = vec![PROTOCOL.to_vec()];
        Ok(Self { config, wanted, forget: asked.forget })
    }

    /// For the host of that name or address, which is sent to it (SNI) and has to be in its certificate. What it hands
    /// out to be known by again is for it alone.
    ///
    /// # Errors
    /// If that can be no name of a host.
    pub fn of(&self, host: &str) -> Result<Client, String> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| format!("'{}' is no name that a certificate can have", host.escape_debug()))?;
        let mut config = self.config.clone();
        config.resumption =
            if self.forget { Resumption::disabled() } else { Resumption::in_memory_sessions(REMEMBERED) };
        let host = Host { config: Arc::new(config), name, text: host.to_owned(), wanted: Arc::clone(&self.wanted) };
        Ok(Client(Arc::new(host)))
    }
}

impl Client {
    /// The host, as it was given.
    pub fn host(&self) -> &str {
        &self.0.text
    }

    /// Whether a server has asked for a certificate: in TLS 1.3 it says what it thinks of the answer when the handshake is
    /// over for the client.
    pub fn was_asked(&self) -> bool {
        self.0.wanted.load(Relaxed)
    }

    pub(crate) fn config(&self) -> Arc<ClientConfig> {
        Arc::clone(&self.0.config)
    }

    pub(crate) fn name(&self) -> ServerName<'static> {
        self.0.name.clone()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Client").field(&self.0.text).finish()
    }
}

/// Two are equal if they are one.
impl PartialEq for Client {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

fn verifier(trust: &Trust, provider: &Arc<CryptoProvider>) -> Result<Arc<dyn ServerCertVerifier>, String> {
    let mut roots = RootCertStore::empty();
    let place = match trust {
        Trust::Anybody => return Ok(Arc::new(Anybody(Arc::clone(provider)))),
        Trust::System => {
            let found = rustls_native_certs::load_native_certs();
            // One that cannot be read is no reason to trust the others less.
            roots.add_parsable_certificates(found.certs);
            if roots.is_empty() {
                return Err("this machine has no certificates of authorities (apt install ca-certificates)".to_owned());
            }
            "the certificates of this machine".to_owned()
        }
        Trust::File(file) => {
            for certificate in pem::certificates(file)? {
                roots.add(certificate).map_err(|error| pem::about(file, &error))?;
            }
            format!("'{}'", file.display())
        }
    };
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(provider)).build();
    Ok(verifier.map_err(|error| format!("{place} cannot be used for TLS: {error}"))?)
}

fn certified(identity: &Identity, provider: &CryptoProvider) -> Result<Arc<CertifiedKey>, String> {
    let (chain, key) = identity.parts();
    let key = CertifiedKey::from_der(chain, key, provider);
    key.map(Arc::new).map_err(|error| identity.fault(&error))
}

/// Shows our certificate to whoever asks, and notes that somebody has.
#[derive(Debug)]
struct Own {
    key: Option<Arc<CertifiedKey>>,
    wanted: Arc<AtomicBool>,
}

impl ResolvesClientCert for Own {
    fn resolve(&self, _: &[&[u8]], _: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        self.wanted.store(true, Relaxed);
        self.key.clone()
    }

    fn has_certs(&self) -> bool {
        // Asked only where it says yes.
        true
    }
}

/// Takes every certificate whose key the peer has.
#[derive(Debug)]
struct Anybody(Arc<CryptoProvider>);

impl ServerCertVerifier for Anybody {
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
