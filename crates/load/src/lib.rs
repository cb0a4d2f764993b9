//! Load generator: arrival schedules, protocols, connections, recording.
//!
//! Every request has three times: intended, sent and done. `docs/reference/statistics.md` defines the figures made of them.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "the crate is not published")]

pub mod calibrate;
mod check;
mod engine;
mod error;
pub mod http;
mod local_addrs;
mod measure;
pub mod observer;
pub mod once;
pub mod options;
pub mod processes;
mod protocol;
pub mod remote;
mod report;
mod run;
pub mod schedule;
pub mod script;
pub mod session;
#[cfg(feature = "sim")]
mod world;

pub use brunt_spec::Direct;
pub use error::LoadError;
pub use local_addrs::{LocalAddrs, LocalAddrsError};
pub use measure::counter::Counting;
pub use observer::{Observer, Silent};
pub use options::{Backend, Options, Target};
pub use report::Report;
pub use run::run;
pub use schedule::{Arrival, Stage};
pub use session::Session;
#[cfg(feature = "sim")]
pub use world::run_in_world;
