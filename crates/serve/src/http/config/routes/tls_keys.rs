//! The `tls` key of a listener.

use super::text::{Entry, Read};
use crate::http::CertCache;
use brunt_tls::{Acceptor, Identity};
use std::{net::SocketAddr, path::Path};
use toml::de::DeValue;

/// `tls = true`, or a table of files relative to `directory`.
pub(super) fn read(
    entry: Entry<'_, '_>,
    directory: &Path,
    addresses: &[SocketAddr],
    certificates: &CertCache,
) -> Read<Option<Acceptor>> {
    let (text, place) = (entry.text, entry.place());
    let error = |why: String| text.error(&place, why);
    let self_signed = || certificates.identity(addresses.iter().copied()).map_err(error);
    if let DeValue::Boolean(wanted) = entry.value.get_ref() {
        return wanted.then(|| Acceptor::new(&self_signed()?, None).map_err(error)).transpose();
    }
    let mut table = entry.table()?;
    let mut file = |key| -> Read<_> { Ok(table.string(key)?.map(|name| directory.join(name))) };
    let (certificate, key, client_ca) = (file("cert")?, file("key")?, file("client_ca")?);
    table.finish("tls")?;
    let identity = match (certificate, key) {
        (Some(certificate), Some(key)) => Identity::read(&certificate, &key).map_err(error)?,
        (None, None) => self_signed()?,
        _ => {
            return Err(error(
                "tls has only one of cert and key: give both, or neither for a self-signed certificate".to_owned(),
            ));
        }
    };
    Acceptor::new(&identity, client_ca.as_deref()).map(Some).map_err(error)
}
