//! Network protocols as state machines without I/O: bytes in, events out; messages in, bytes out.
//!
//! No sockets, no clock, no allocation per message: protocols are tested without a network.
#![forbid(unsafe_code)]

pub mod echo;
pub mod http1;
