//! Units, versioned result types and verdicts, shared by the other crates.
//!
//! This crate is the contract with scripts: units as typed, the result of one trial as written, the verdict on its validity
//! and the exit code that follows from it. It uses no socket, no clock and no other crate of the workspace.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

pub mod acceptance;
pub mod agents;
pub mod buckets;
pub mod calibration;
pub mod colocation;
pub mod comparison;
pub mod connect_error;
pub mod counts;
pub mod directory;
pub mod drift;
pub mod env;
pub mod error;
pub mod exit;
pub mod figure;
pub mod hlog;
pub mod judge;
pub mod latency;
pub mod lock;
pub mod named;
pub mod percentile;
pub mod program;
pub mod provisional;
pub mod regime;
pub mod result;
pub mod schema;
pub mod secrets;
pub mod series;
pub mod shared_cores;
pub mod slice;
pub mod slo;
pub mod stages;
pub mod start;
pub mod state_dir;
pub mod threshold;
pub mod units;
pub mod verdict;
pub mod wrong_reply;

pub use connect_error::{ConnectCause, ConnectError};
pub use error::Error;
pub use exit::ExitCode;
pub use figure::Figure;
pub use latency::LatencySummary;
pub use percentile::Percentile;
pub use result::RunResult;
pub use slo::Slo;
pub use threshold::{Threshold, bounds};
pub use units::{Cores, Count, Rate, Size, Span, UnitError};
pub use verdict::{ValidityIssue, Verdict};
pub use wrong_reply::WrongReply;
