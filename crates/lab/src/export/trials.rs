//! All trials of a directory with the settings of their cells, or one with one of its distributions. Read-only.

use crate::Error;
use crate::run_directory::RunDirectory;
use crate::schedule::{Cell, pairs};
use brunt_results::{RunResult, directory::Directory, env::Env, hlog};
use hdrhistogram::Histogram;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Trials {
    /// Name of the plan; `None` for a single result.
    pub(super) plan: Option<String>,
    pub(super) groups: Vec<Group>,
}

#[derive(Debug)]
pub(super) struct Group {
    /// `None` for a single result.
    pub(super) cell: Option<Cell>,
    pub(super) trials: Vec<Trial>,
}

#[derive(Debug)]
pub(super) struct Trial {
    pub(super) repeat: u32,
    pub(super) dir: PathBuf,
    pub(super) result: RunResult,
}

impl Trials {
    pub(super) fn read(dir: &Path) -> Result<Self, Error> {
        let store = RunDirectory::at(dir);
        let mut trials = Self { plan: None, groups: Vec::new() };
        if let Some(experiment) = store.experiment()? {
            for (cell, results) in store.results(&experiment) {
                let trial = |(repeat, result)| Trial { repeat, dir: store.trial(cell.id(), repeat), result };
                let own = results.into_iter().map(trial).collect();
                trials.groups.push(Group { cell: Some(cell.clone()), trials: own });
            }
            trials.plan = Some(experiment.name);
        } else if Directory::open(dir).is_complete() {
            let result = Directory::open(dir).read_result()?;
            trials.groups.push(Group { cell: None, trials: vec![Trial { repeat: 1, dir: dir.to_owned(), result }] });
        }
        if trials.groups.is_empty() {
            return Err(Error::Usage(format!(
                "{} holds no results: neither an experiment with a finished trial nor result.json",
                dir.display()
            )));
        }
        Ok(trials)
    }
}

impl Group {
    /// All settings of the cell, target first, with totals instead of amounts per core.
    pub(super) fn values(&self) -> Vec<(String, String)> {
        let Some(cell) = &self.cell else { return Vec::new() };
        let value = |name: &str| (name.to_owned(), cell.value(name).unwrap_or_default());
        std::iter::once(("target".to_owned(), cell.target.clone())).chain(cell.settings.names().map(value)).collect()
    }

    /// The swept settings, with numbers without units.
    pub(super) fn swept(&self) -> Vec<(String, String)> {
        let Some(cell) = &self.cell else { return Vec::new() };
        let plain = cell.placeholders();
        let value =
            |(name, value): (&str, &str)| (name.to_owned(), plain.get(name).map_or(value, String::as_str).to_owned());
        pairs(cell.combination()).map(value).collect()
    }
}

/// One trial with one of its distributions.
#[derive(Debug)]
pub(super) struct SingleTrial {
    pub(super) result: RunResult,
    pub(super) env: Env,
    /// Nanoseconds; never empty.
    pub(super) times: Histogram<u64>,
}

impl SingleTrial {
    pub(super) fn read(dir: &Path, tag: &str) -> Result<Self, Error> {
        let (times, directory) = (distribution(dir, tag)?, Directory::open(dir));
        Ok(Self { result: directory.read_result()?, env: directory.read_env()?, times })
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
