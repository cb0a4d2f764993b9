//! TLS 1.2 and 1.3 by rustls, as a layer between received bytes and a protocol: bytes in, plain text and bytes out. It owns
//! no socket and waits for nothing; who may be trusted, and who one is, is read from files before anything is opened.
//!
//! ```text
//! Trust, Identity --> Clients, Server --> Session --> Stream, over a Carrier
//! ```
#![forbid(unsafe_code)]

mod client;
mod fault;
mod identity;
mod pem;
mod server;
mod session;
mod stream;

pub use client::{Asked, Client, Clients, Trust, Version};
pub use fault::{Cause, Fault};
pub use identity::Identity;
pub use pem::as_pem;
pub use server::Server;
pub use session::{Greeting, Session};
pub use stream::{Carrier, Stream};

use rustls::crypto::{CryptoProvider, ring};
use std::sync::Arc;

/// What is spoken inside (RFC 7301).
const PROTOCOL: &[u8] = b"http/1.1";

fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}
