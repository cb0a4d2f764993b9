#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

pub mod echo;
pub mod http1;
