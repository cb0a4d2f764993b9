//! The load generator: *when* (a pure arrival schedule), *what* (a protocol of `wire`), *where* (connections on
//! `runtime`), and what became of it (histograms, errors, a verdict).
//!
//! Every request has three times, intended, sent and done; see `docs/statistics.md` for what is made of them.
#![forbid(unsafe_code)]

mod check;
mod collect;
mod counts;
mod engine;
mod error;
mod handshakes;
mod hlog;
pub mod http;
mod interval;
pub mod null;
pub mod observer;
pub mod options;
mod ping;
pub mod processes;
mod record;
mod replies;
mod report;
pub mod schedule;
pub mod script;
mod sources;

pub use engine::run;
pub use error::LoadError;
pub use observer::{Observer, Silent};
pub use options::{Arrival, Options, Target};
pub use report::Report;
pub use sources::{Sources, SourcesError};
