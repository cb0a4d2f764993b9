//! The words of brunt and the versioned result types that every other crate shares.
//!
//! This crate is the contract: units as they are typed, the result of one trial as it is written, the verdict on
//! whether it may be believed, the exit code it leads to. It knows no socket, no clock and no other crate of the house.
#![forbid(unsafe_code)]

pub mod calibration;
pub mod directory;
pub mod drift;
pub mod env;
pub mod exit;
pub mod hlog;
pub mod judge;
pub mod latency;
pub mod result;
pub mod series;
pub mod slo;
pub mod state_dir;
pub mod threshold;
pub mod units;
pub mod verdict;

pub use exit::ExitCode;
pub use latency::LatencySummary;
pub use result::RunResult;
pub use slo::Slo;
pub use threshold::Threshold;
pub use units::{Cores, Count, Rate, Size, Span, UnitError};
pub use verdict::{ValidityIssue, Verdict};
