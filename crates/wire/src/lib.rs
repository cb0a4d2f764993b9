//! Protocols as pure state machines: bytes in, facts out; facts in, bytes out.
//!
//! Nothing here opens a socket, reads a clock or allocates per message, so every protocol is tested without a network.
#![forbid(unsafe_code)]

pub mod echo;
pub mod http1;
