//! Sockets beyond plain TCP streams: Unix sockets, halves, vectored writes, `AsyncFd`, UDP.
//!
//! Every test runs on both backends.

mod address;
mod async_fd;
#[allow(dead_code, reason = "each test program uses its part of what they share")]
#[path = "../common/mod.rs"]
mod common;
mod duplicate;
mod split;
mod udp;
mod unix;
mod vectored;
