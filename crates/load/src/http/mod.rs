//! HTTP/1 load.

pub mod source;
