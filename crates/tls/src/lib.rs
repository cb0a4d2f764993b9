//! TLS 1.2 and 1.3 on rustls, between received bytes and a protocol.
//!
//! ```text
//! Trust, Identity --> ClientConfig --> Connector ┐
//!           Identity --------------> Acceptor ───┴--> Session --> Stream, over a Transport
//! ```
//!
//! [`Session`] is pure: bytes in, plain text and bytes out. [`Stream`] polls a [`Transport`], so that it works with any
//! runtime. Certificates and keys are read when a configuration is made, never while connections are served.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod client;
mod error;
mod identity;
mod listed;
mod pem;
mod server;
mod session;
mod stream;

pub use client::{ClientConfig, ClientOptions, Connector, Trust, Version};
pub use error::{Cause, TlsError};
pub use identity::Identity;
pub use pem::encode_pem;
pub use server::Acceptor;
pub use session::{HandshakeInfo, Session};
pub use stream::{Stream, Transport};

use rustls::crypto::{CryptoProvider, ring};
use std::sync::Arc;

/// The protocol that is negotiated (ALPN, RFC 7301).
const PROTOCOL: &[u8] = b"http/1.1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
