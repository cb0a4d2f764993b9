//! One trial with one of its distributions. Read-only.

use crate::run_directory::RunDirectory;
use brunt_results::{Error, RunResult, directory::Directory, env::Env, hlog};
use hdrhistogram::Histogram;
use std::{fs, path::Path};

#[derive(Debug)]
pub(super) struct SingleTrial {
    pub(super) result: RunResult,
    pub(super) env: Env,
    /// Nanoseconds; never empty.
    pub(super) times: Histogram<u64>,
    /// What a reader of the times must know.
    pub(super) note: Option<String>,
}

impl SingleTrial {
    pub(super) fn read(dir: &Path, tag: &str) -> Result<Self, Error> {
        let ((times, note), directory) = (distribution(dir, tag)?, Directory::open(dir));
        Ok(Self { result: directory.read_result()?, env: directory.read_env()?, times, note })
    }

    pub(super) fn is_http(&self) -> bool {
        self.result.load.url.starts_with("http")
    }

    pub(super) fn without_status(&self) -> u64 {
        self.result.errors.total() - self.result.errors.status
    }

    pub(super) fn window_ns(&self) -> u64 {
        (self.result.load.measured_s * 1e9).round() as u64
    }

    /// Start of the measured window in seconds since 1970, to about a second.
    pub(super) fn window_start_unix_s(&self) -> u64 {
        self.env.started_unix_s.saturating_add(self.result.load.warmup_s.round() as u64)
    }
}

/// The times of a distribution, and what their reader must know: that some are lower bounds.
pub(super) fn distribution(dir: &Path, tag: &str) -> Result<(Histogram<u64>, Option<String>), Error> {
    let place = dir.join("latency.hlog");
    let log = match fs::read(&place) {
        Ok(log) => log,
        Err(_) if RunDirectory::at(dir).experiment()?.is_some() => {
            return Err(Error::Usage(format!(
                "{} holds many trials: name one of them, as {}/trials/CELL/1",
                dir.display(),
                dir.display()
            )));
        }
        Err(error) => return Err(Error::Usage(format!("{}: {error}", place.display()))),
    };
    let failed = |error: String| Error::Failed(format!("{}: {error}", place.display()));
    let whole = hlog::distribution(&log, tag).map_err(failed)?;
    if whole.is_empty() {
        return Err(Error::Usage(format!("{} holds nothing of '{tag}'", place.display())));
    }
    let censored = if tag == "response" { hlog::distribution(&log, "censored").map_err(failed)?.len() } else { 0 };
    let note = (censored > 0).then(|| {
        let count = whole.len();
        format!("{censored} of {count} requests got no complete reply: their times, the longest, are lower bounds")
    });
    Ok((whole, note))
}
