//! Runs experiments: a plan becomes cells, cells become trials in shuffled order, each trial starts its target, loads it with
//! a tester, stops it and leaves a result directory. Statistics and reports are computed from the directories alone.
//!
//! ```text
//! plan -> schedule -> run        -> run_directory -> statistics -> report, compare, export, history
//! pure    pure        processes     files            pure     pure
//! ```
//!
//! Targets and testers are processes; this crate opens a connection only to see whether a target accepts, and prints
//! nothing: see [`run::Observer`].
#![forbid(unsafe_code)]
// Not published: items with obvious names have no docs.
#![allow(missing_docs)]

pub mod clock;
pub mod compare;
pub mod cost;
pub mod export;
pub mod format;
mod fs_error;
mod group;
pub mod history;
pub mod plan;
pub mod report;
pub mod run;
pub mod run_directory;
pub mod schedule;
pub mod slices;
pub mod slo_search;
pub mod system;
pub mod terminal;
pub mod testers;
pub mod tree;
