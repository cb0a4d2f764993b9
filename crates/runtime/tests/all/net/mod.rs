//! Sockets beyond plain TCP streams: Unix sockets, halves, vectored writes, `AsyncFd`, UDP.
//!
//! Every test runs on both backends.

mod address;
mod async_fd;
mod duplicate;
mod split;
mod udp;
mod unix;
mod vectored;
