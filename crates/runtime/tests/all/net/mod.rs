//! Sockets beyond plain TCP streams: Unix sockets, halves, vectored writes, `AsyncFd`, UDP.
//!
//! Every test runs on both backends.

mod address;
mod async_fd;
mod copy;
mod duplicate;
mod leaving;
mod outside;
mod split;
mod udp;
mod unix;
mod unix_datagram;
mod vectored;
