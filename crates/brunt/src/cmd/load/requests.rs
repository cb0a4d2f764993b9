//! `-n N` and `--requests N|FILE`.

use super::{Args, usage};
use brunt_results::{Count, Error};
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Value of `--requests`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CountOrFile {
    Count(Count),
    File(PathBuf),
}

impl FromStr for CountOrFile {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Ok(text.parse().map_or_else(|_| Self::File(text.into()), Self::Count))
    }
}

impl Args {
    /// Replies after which to stop.
    pub fn count(&self) -> Result<Option<Count>, Error> {
        match (self.requests, &self.requests_or_file) {
            (Some(count), Some(CountOrFile::Count(other))) => {
                usage(format!("-n {count} and --requests {other}: give one of them, or --requests a file"))
            }
            (None, Some(CountOrFile::Count(count))) => Ok(Some(*count)),
            (count, _) => Ok(count),
        }
    }

    /// The file whose requests are sent.
    pub fn request_file(&self) -> Option<&Path> {
        match &self.requests_or_file {
            Some(CountOrFile::File(path)) => Some(path),
            Some(CountOrFile::Count(_)) | None => None,
        }
    }
}
