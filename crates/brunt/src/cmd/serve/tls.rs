//! The flags of `brunt serve http` over TLS.

use brunt_serve::http::CertCache;
use brunt_tls::Identity;
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// How listeners speak TLS, if they do.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Tls {
    /// TLS on every listener but that of --metrics; without --tls-cert with a certificate made at the start, which nobody
    /// trusts unasked.
    #[arg(long, conflicts_with = "routes")]
    tls: bool,
    /// Certificate (PEM), with what leads from it to an authority; SIGHUP reads it again. Means --tls.
    #[arg(long, value_name = "FILE", requires = "tls_key", conflicts_with = "routes")]
    tls_cert: Option<PathBuf>,
    /// Its private key (PEM).
    #[arg(long, value_name = "FILE", requires = "tls_cert", conflicts_with = "routes")]
    tls_key: Option<PathBuf>,
    /// Authorities (PEM) one of which has to have signed the certificate that every client then needs. Means --tls.
    #[arg(long, value_name = "FILE", conflicts_with = "routes")]
    tls_client_ca: Option<PathBuf>,
}

impl Tls {
    /// The file that is read, if one is.
    pub(super) fn file(&self) -> Option<&Path> {
        self.tls_cert.as_deref().or(self.tls_client_ca.as_deref())
    }

    /// What the files say now, for listeners on these addresses.
    ///
    /// # Errors
    /// One line that says which of them is wrong, and how.
    pub(super) fn server(
        &self,
        addresses: impl IntoIterator<Item = SocketAddr>,
        own: &CertCache,
    ) -> Result<Option<brunt_tls::Server>, String> {
        if !self.tls && self.file().is_none() {
            return Ok(None);
        }
        let identity = match (&self.tls_cert, &self.tls_key) {
            (Some(certificate), Some(key)) => Identity::read(certificate, key)?,
            _ => own.identity(addresses)?,
        };
        brunt_tls::Server::new(&identity, self.tls_client_ca.as_deref()).map(Some)
    }
}
