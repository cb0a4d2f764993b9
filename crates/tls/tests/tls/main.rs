//! Tests of TLS without sockets: two ends connected in memory.

mod authority;
mod ends;
mod failure;
mod listed;
mod success;
