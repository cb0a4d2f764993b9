//! `-n N` and `--requests N|FILE`.

use super::{Args, http::Flags, usage};
use brunt_results::{Count, Error};
use brunt_spec::CountOrFile;
use std::path::Path;

impl Args {
    pub(super) fn http(&self) -> Flags<'_> {
        Flags(&self.spec)
    }

    /// Replies after which to stop.
    pub fn count(&self) -> Result<Option<Count>, Error> {
        match (self.spec.requests, &self.spec.requests_or_file) {
            (Some(count), Some(CountOrFile::Count(other))) => {
                usage(format!("-n {count} and --requests {other}: give one of them, or --requests a file"))
            }
            (None, Some(CountOrFile::Count(count))) => Ok(Some(*count)),
            (count, _) => Ok(count),
        }
    }

    /// The file whose requests are sent.
    pub fn request_file(&self) -> Option<&Path> {
        match &self.spec.requests_or_file {
            Some(CountOrFile::File(path)) => Some(path),
            Some(CountOrFile::Count(_)) | None => None,
        }
    }
}
