//! Self-signed certificates for listeners without one. The certificate for a set of names is made once, so that a
//! reload does not change it.

use crate::lock;
use brunt_tls::Identity;
use std::{net::SocketAddr, sync::Mutex};

/// Names in every certificate, for clients on this machine.
const LOCAL: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

#[derive(Debug, Default)]
pub struct CertCache(Mutex<Vec<(Vec<String>, Identity)>>);

impl CertCache {
    /// The certificate of a listener on these addresses.
    pub fn identity(&self, addresses: impl IntoIterator<Item = SocketAddr>) -> Result<Identity, String> {
        let mut names: Vec<String> = LOCAL.map(str::to_owned).to_vec();
        for address in addresses {
            let name = address.ip().to_string();
            if !address.ip().is_unspecified() && !names.contains(&name) {
                names.push(name);
            }
        }
        let mut made = lock(&self.0);
        if let Some((_, identity)) = made.iter().find(|(known, _)| *known == names) {
            return Ok(identity.clone());
        }
        let identity = Identity::self_signed(&names)?;
        made.push((names, identity.clone()));
        Ok(identity)
    }

    pub fn made(&self) -> Vec<String> {
        let line = |(names, identity): &(Vec<String>, Identity)| {
            format!("made a certificate for {}; SHA-256 {}", names.join(", "), identity.fingerprint())
        };
        lock(&self.0).iter().map(line).collect()
    }
}
