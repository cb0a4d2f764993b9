//! All trials of a directory with the settings of their cells. Read-only.

use crate::run_directory::RunDirectory;
use crate::schedule::{Cell, pairs};
use brunt_results::{Error, RunResult, directory::Directory};
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
    /// The cell, or the URL of a single result.
    pub(super) fn name(&self) -> String {
        match &self.cell {
            Some(cell) => cell.id().to_owned(),
            None => self.trials[0].result.load.url.clone(),
        }
    }

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
