//! The laboratory: runs experiments. A plan becomes cells, cells become trials in a shuffled order, each trial starts
//! its target anew, loads it with a tester, stops it and leaves a result directory; statistics and reports are made of
//! the directories alone.
//!
//! ```text
//! plan -> cells -> order -> trial -> store -> stats -> report
//! pure    pure     pure     processes files   pure     pure
//! ```
//!
//! Everything under test and everything that tests is a process here; this crate opens no connection of its own but to
//! see whether a target accepts, and prints nothing: see [`run::observer`].
#![forbid(unsafe_code)]
// Not published: names are documented where they do not say it all.
#![allow(missing_docs)]

pub mod compare;
pub mod export;
pub mod format;
mod fs_error;
pub mod history;
pub mod plan;
pub mod report;
pub mod run;
pub mod run_directory;
pub mod schedule;
pub mod slo_search;
pub mod stats;
pub mod suggest;
pub mod system;
pub mod terminal;
pub mod testers;

use std::{fmt, io};

/// Why an experiment cannot go on.
#[derive(Debug)]
pub enum Error {
    /// What was asked for makes no sense; nothing was run.
    Usage(String),
    /// Something on this machine failed.
    Failed(String),
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Failed(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Error {}

impl From<io::Error> for Error {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}
