//! A server's side: who it is, and whether its clients have to say who they are.

use crate::{Identity, PROTOCOL, pem, provider};
use rustls::{RootCertStore, ServerConfig, crypto::ring::Ticketer, server::WebPkiClientVerifier};
use std::{fmt, path::Path, sync::Arc};

/// Ready to answer any number of connections. Clones are one.
#[derive(Clone)]
pub struct Server(Arc<ServerConfig>);

impl Server {
    /// A server of that identity. If there is a file of authorities, clients need a certificate that one of them has
    /// signed. Clients that come again are known by the ticket they were given; no table of them is kept.
    ///
    /// # Errors
    /// One line that names what cannot be used and why.
    pub fn new(identity: &Identity, client_ca: Option<&Path>) -> Result<Self, String> {
        let builder = ServerConfig::builder_with_provider(provider()).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| error.to_string())?;
        let builder = match client_ca {
            None => builder.with_no_client_auth(),
            Some(file) => {
                let mut roots = RootCertStore::empty();
                for certificate in pem::certificates(file)? {
                    roots.add(certificate).map_err(|error| pem::about(file, &error))?;
                }
                let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider()).build();
                builder.with_client_cert_verifier(verifier.map_err(|error| pem::about(file, &error))?)
            }
        };
        let (chain, key) = identity.parts();
        let mut config = builder.with_single_cert(chain, key).map_err(|error| identity.fault(&error))?;
        // In the order we like them; clients that are asked for HTTP/1.0 offer nothing else.
        config.alpn_protocols = vec![PROTOCOL.to_vec(), b"http/1.0".to_vec()];
        config.ticketer = Ticketer::new().map_err(|error| error.to_string())?;
        Ok(Self(Arc::new(config)))
    }

    pub(crate) fn config(&self) -> Arc<ServerConfig> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Server")
    }
}

/// Two are equal if they are one.
impl PartialEq for Server {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
