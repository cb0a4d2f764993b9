//! Flags for https:// targets: trust and client certificates.

use super::usage;
use brunt_results::{Error, named};
use brunt_spec::{Heading, LoadSpec, Setting};
use brunt_tls::{ClientConfig, ClientOptions, Identity, Trust, Version};

/// The first given setting of https:// targets.
pub(super) fn given(spec: &LoadSpec) -> Option<String> {
    spec.settings().find(|setting| setting.heading == Heading::Tls).map(Setting::named)
}

/// TLS client configuration, if any URL needs it.
pub(super) fn clients(spec: &LoadSpec, wanted: bool) -> Result<Option<ClientConfig>, Error> {
    if !wanted {
        return match given(spec) {
            Some(flag) => usage(format!("{flag} means nothing without https://: leave it out, or load such a URL")),
            None => Ok(None),
        };
    }
    let trust = match &spec.cacert {
        _ if spec.insecure => Trust::Insecure,
        Some(file) => Trust::File(named::place(file)?),
        None => Trust::System,
    };
    let identity = match (&spec.cert, &spec.key) {
        (Some(certificate), Some(key)) => Some(Identity::read(certificate, key).map_err(Error::Failed)?),
        _ => None,
    };
    let version = spec.tls_version.as_deref().map(version).transpose().map_err(Error::Usage)?;
    let disable_resumption = spec.no_resumption;
    let options = ClientOptions { trust, identity, version, disable_resumption };
    ClientConfig::new(&options).map(Some).map_err(Error::Failed)
}

pub(super) fn version(text: &str) -> Result<Version, String> {
    match text {
        "1.2" => Ok(Version::Tls12),
        "1.3" => Ok(Version::Tls13),
        _ => Err("write 1.2 or 1.3".to_owned()),
    }
}
