//! Flags for https:// targets: trust and client certificates.

use super::{first_given, usage};
use brunt_results::Error;
use brunt_tls::{ClientConfig, ClientOptions, Identity, Trust, Version};
use std::path::PathBuf;

const HEADING: &str = "TLS";

/// Flags valid only with https://.
#[derive(Debug, clap::Args)]
pub(super) struct Tls {
    /// Accept any server certificate
    #[arg(short = 'k', long, help_heading = HEADING)]
    insecure: bool,
    /// Trust only the authorities in this file (PEM) [default: the system's]
    #[arg(long, value_name = "FILE", conflicts_with = "insecure", help_heading = HEADING)]
    cacert: Option<PathBuf>,
    /// Client certificate with its chain (PEM)
    #[arg(long, value_name = "FILE", requires = "key", help_heading = HEADING)]
    cert: Option<PathBuf>,
    /// Private key of the client certificate (PEM)
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = HEADING)]
    key: Option<PathBuf>,
    /// Full handshake on every connection, without session resumption
    #[arg(long, help_heading = HEADING)]
    no_resumption: bool,
    /// Offer only this version: 1.2 or 1.3 [default: both]
    #[arg(long, value_name = "VERSION", value_parser = version, help_heading = HEADING)]
    tls_version: Option<Version>,
}

impl Tls {
    pub(super) fn given(&self) -> Option<&'static str> {
        first_given(&[
            ("--insecure", self.insecure),
            ("--cacert", self.cacert.is_some()),
            ("--cert", self.cert.is_some()),
            ("--no-resumption", self.no_resumption),
            ("--tls-version", self.tls_version.is_some()),
        ])
    }

    /// TLS client configuration, if any URL needs it.
    pub(super) fn clients(&self, wanted: bool) -> Result<Option<ClientConfig>, Error> {
        if !wanted {
            return match self.given() {
                Some(flag) => usage(format!("{flag} means nothing without https://: leave it out, or load such a URL")),
                None => Ok(None),
            };
        }
        let trust = match &self.cacert {
            _ if self.insecure => Trust::Insecure,
            Some(file) => Trust::File(file.clone()),
            None => Trust::System,
        };
        let identity = match (&self.cert, &self.key) {
            (Some(certificate), Some(key)) => Some(Identity::read(certificate, key).map_err(Error::Failed)?),
            _ => None,
        };
        let (version, disable_resumption) = (self.tls_version, self.no_resumption);
        let options = ClientOptions { trust, identity, version, disable_resumption };
        ClientConfig::new(&options).map(Some).map_err(Error::Failed)
    }
}

fn version(text: &str) -> Result<Version, String> {
    match text {
        "1.2" => Ok(Version::Tls12),
        "1.3" => Ok(Version::Tls13),
        _ => Err("write 1.2 or 1.3".to_owned()),
    }
}
