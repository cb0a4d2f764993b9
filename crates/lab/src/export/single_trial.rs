//! SingleTrial trial and one of its distributions. Only reads.

use crate::{Error, format::date, run_directory::RunDirectory};
use brunt_results::{RunResult, directory::Directory, env::Env, hlog};
use hdrhistogram::Histogram;
use std::{fs, path::Path};

/// A trial.
#[derive(Debug)]
pub(super) struct SingleTrial {
    pub(super) result: RunResult,
    pub(super) env: Env,
    /// Nanoseconds; never empty.
    pub(super) times: Histogram<u64>,
}

impl SingleTrial {
    /// Reads the trial of a directory and the distribution of that tag.
    pub(super) fn read(dir: &Path, tag: &str) -> Result<Self, Error> {
        let (times, directory) = (distribution(dir, tag)?, Directory::open(dir));
        Ok(Self { result: directory.read_result()?, env: directory.read_env()?, times })
    }

    /// Whether the load was HTTP, and not ping-pong.
    pub(super) fn is_http(&self) -> bool {
        self.result.load.url.starts_with("http")
    }

    /// Requests that ended in an error without any reply's status to tell of it.
    pub(super) fn without_status(&self) -> u64 {
        self.result.errors.total() - self.result.errors.status
    }

    /// The length of the measured window in nanoseconds.
    pub(super) fn window_ns(&self) -> u64 {
        (self.result.load.measured_s * 1e9).round() as u64
    }

    /// When the measured window began, in seconds since 1970-01-01 UTC; to the second or so.
    pub(super) fn window_start_unix_s(&self) -> u64 {
        self.env.started_unix_s.saturating_add(self.result.load.warmup_s.round() as u64)
    }
}

/// The distribution of that tag; never empty.
pub(super) fn distribution(dir: &Path, tag: &str) -> Result<Histogram<u64>, Error> {
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
    Ok(whole)
}

/// Seconds since 1970-01-01 UTC as RFC 3339 has them: `2026-01-31T08:05:09Z`.
pub(super) fn instant(unix_s: u64) -> String {
    let date = date(unix_s);
    let day = date.split_once(' ').map_or(date.as_str(), |(day, _)| day);
    let second = unix_s % 86_400;
    format!("{day}T{:02}:{:02}:{:02}Z", second / 3600, second / 60 % 60, second % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn instants_are_dates_to_the_second() {
        assert_eq!(instant(0), "1970-01-01T00:00:00Z");
        assert_eq!(instant(951_868_799), "2000-02-29T23:59:59Z");
    }
}
