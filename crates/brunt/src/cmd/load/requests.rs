//! `-n N` and `--requests N|FILE`.

use super::usage;
use brunt_results::{Count, Error};
use brunt_spec::{CountOrFile, LoadSpec};
use std::path::Path;

/// Replies after which to stop.
pub(super) fn count(spec: &LoadSpec) -> Result<Option<Count>, Error> {
    match (spec.requests, &spec.requests_or_file) {
        (Some(count), Some(CountOrFile::Count(other))) => {
            usage(format!("-n {count} and --requests {other}: give one of them, or --requests a file"))
        }
        (None, Some(CountOrFile::Count(count))) => Ok(Some(*count)),
        (count, _) => Ok(count),
    }
}

/// The file whose requests are sent.
pub(super) fn file(spec: &LoadSpec) -> Option<&Path> {
    match &spec.requests_or_file {
        Some(CountOrFile::File(path)) => Some(path),
        Some(CountOrFile::Count(_)) | None => None,
    }
}
