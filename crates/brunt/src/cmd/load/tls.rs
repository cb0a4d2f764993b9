//! Flags for https:// targets: trust and client certificates.

use super::{first_given, usage};
use brunt_results::Error;
use brunt_spec::LoadSpec;
use brunt_tls::{ClientConfig, ClientOptions, Identity, Trust, Version};
use std::ops::Deref;

/// The settings of https:// targets.
#[derive(Debug, Clone, Copy)]
pub(super) struct Tls<'a>(pub &'a LoadSpec);

impl Deref for Tls<'_> {
    type Target = LoadSpec;

    fn deref(&self) -> &LoadSpec {
        self.0
    }
}

impl Tls<'_> {
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
        let version = self.tls_version.as_deref().map(version).transpose().map_err(Error::Usage)?;
        let disable_resumption = self.no_resumption;
        let options = ClientOptions { trust, identity, version, disable_resumption };
        ClientConfig::new(&options).map(Some).map_err(Error::Failed)
    }
}

pub(super) fn version(text: &str) -> Result<Version, String> {
    match text {
        "1.2" => Ok(Version::Tls12),
        "1.3" => Ok(Version::Tls13),
        _ => Err("write 1.2 or 1.3".to_owned()),
    }
}
