//! The key of a listener that says whether, and as whom, it speaks TLS.

use super::text::{Read, Text, Value};
use crate::http::CertCache;
use brunt_tls::Identity;
use std::{net::SocketAddr, path::Path};
use toml::de::DeValue;

/// `tls = true`, or a table of files, which are relative to `directory`.
pub(super) fn read(
    text: &Text<'_>,
    value: &Value<'_>,
    directory: &Path,
    addresses: &[SocketAddr],
    own: &CertCache,
) -> Read<Option<brunt_tls::Acceptor>> {
    let fault = |why: String| text.fault(&value.span(), why);
    let own = || own.identity(addresses.iter().copied()).map_err(fault);
    if let DeValue::Boolean(wanted) = value.get_ref() {
        return wanted.then(|| brunt_tls::Acceptor::new(&own()?, None).map_err(fault)).transpose();
    }
    let mut table = text.table(value, "tls")?;
    let mut file = |key: &'static str| -> Read<_> {
        table.take(key).map(|value| Ok(directory.join(text.string(value, key)?))).transpose()
    };
    let (certificate, key, client_ca) = (file("cert")?, file("key")?, file("client_ca")?);
    table.end(text, "tls")?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Identity::read(&certificate, &key).map_err(fault)?,
        (None, None) => own()?,
        _ => {
            return Err(fault(
                "tls has one of cert and key: give both, or neither for a certificate made here".to_owned(),
            ));
        }
    };
    brunt_tls::Acceptor::new(&identity, client_ca.as_deref()).map(Some).map_err(fault)
}
