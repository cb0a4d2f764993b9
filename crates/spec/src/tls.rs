//! Settings of https:// targets: trust and client certificates.

use crate::row;
use crate::setting::{Heading, Setting};

const fn of(setting: Setting) -> Setting {
    setting.under(Heading::Tls)
}

pub(crate) const TABLE: &[Setting] = &[
    of(row!(insecure))
        .short('k')
        .long("insecure")
        .help("", "Accept any server certificate")
        .field("Accept any certificate", ""),
    of(row!(cacert))
        .long("cacert")
        .help("FILE", "Trust only the authorities in this file (PEM) [default: the system's]")
        .conflicts("insecure"),
    of(row!(cert)).long("cert").help("FILE", "Client certificate with its chain (PEM)").requires("key"),
    of(row!(key)).long("key").help("FILE", "Private key of the client certificate (PEM)").requires("cert"),
    of(row!(no_resumption))
        .long("no-resumption")
        .help("", "Full handshake on every connection, without session resumption"),
    of(row!(tls_version)).long("tls-version").help("VERSION", "Offer only this version: 1.2 or 1.3 [default: both]"),
];
