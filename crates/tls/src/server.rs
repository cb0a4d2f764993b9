//! Configuration of servers: the certificate, and the clients that are accepted.

use crate::{Identity, PROTOCOL, pem, provider};
use rustls::{ServerConfig, crypto::ring::Ticketer, server::WebPkiClientVerifier};
use std::{fmt, path::Path, sync::Arc};

/// The configuration of a server, for any number of connections. Cheap to clone.
#[derive(Clone)]
pub struct Acceptor(pub(crate) Arc<ServerConfig>);

impl Acceptor {
    /// A server with this identity. With `client_ca`, a file of certificate authorities, each client needs a certificate
    /// issued by one of them. Sessions are resumed by tickets: the server keeps no table of clients.
    pub fn new(identity: &Identity, client_ca: Option<&Path>) -> Result<Self, String> {
        let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let roots = Arc::new(pem::roots(file)?);
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| pem::unusable(file, &error))?)
            }
        };
        let (chain, key) = identity.parts();
        let mut config = builder.with_single_cert(chain, key).map_err(|error| identity.unusable(&error))?;
        // In order of preference. Clients limited to HTTP/1.0, such as `ab`, offer only that.
        config.alpn_protocols = vec![PROTOCOL.to_vec(), b"http/1.0".to_vec()];
        config.ticketer = Ticketer::new().map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(config)))
    }
}

impl fmt::Debug for Acceptor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Acceptor")
    }
}

/// Identity, not contents.
impl PartialEq for Acceptor {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
