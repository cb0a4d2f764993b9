//! TLS flags of `brunt serve http`.

use brunt_serve::http::CertCache;
use brunt_tls::Identity;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone, clap::Args)]
pub(super) struct Tls {
    /// Use TLS on every listener except --metrics; without --tls-cert, with a self-signed certificate made at start
    #[arg(long, conflicts_with = "routes")]
    tls: bool,
    /// Certificate chain (PEM); SIGHUP reloads it. Implies --tls
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "routes")]
    tls_cert: Option<PathBuf>,
    /// Private key (PEM)
    #[arg(long, value_name = "FILE", requires = "tls_cert", conflicts_with = "routes")]
    tls_key: Option<PathBuf>,
    /// Require client certificates signed by one of these authorities (PEM). Implies --tls
    #[arg(long, value_name = "FILE", conflicts_with = "routes")]
    tls_client_ca: Option<PathBuf>,
}

impl Tls {
    /// The file to reload, if any.
    pub(super) fn file(&self) -> Option<&Path> {
        self.tls_cert.as_deref().or(self.tls_client_ca.as_deref())
    }

    /// Reads the files and builds the TLS configuration for these addresses.
    ///
    /// # Errors
    /// One line naming the invalid file and the error.
    pub(super) fn server(
        &self,
        addresses: impl IntoIterator<Item = SocketAddr>,
        own: &CertCache,
    ) -> Result<Option<brunt_tls::Acceptor>, String> {
        if !self.tls && self.file().is_none() {
            return Ok(None);
        }
        let identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Identity::read(certificate, key)?,
            _ => own.identity(addresses)?,
        };
        brunt_tls::Acceptor::new(&identity, self.tls_client_ca.as_deref()).map(Some)
    }
}
