//! Sockets beyond plain TCP streams: Unix sockets, halves, several pieces at once, watched descriptors, datagrams.
//!
//! Every test runs on both backends.

#[allow(dead_code, reason = "each test program uses its part of what they share")]
#[path = "../abuse/common.rs"]
mod common;
mod split;
mod udp;
mod unix;
mod vectored;
mod watch;
