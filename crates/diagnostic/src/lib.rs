//! Values of TOML files, with errors that name file, line and column and suggest the nearest known name.
//!
//! What the keys of a file mean is the business of its crate: plans belong to `lab`, routes to `serve`.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod error;
pub mod suggest;
mod text;

pub use error::Diagnostic;
pub use text::{Entry, Text, Value, entries, one_or_list};
