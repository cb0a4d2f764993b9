//! The directory of a run. A run that was killed at any moment can be continued from it.
//!
//! ```text
//! runs/quick/
//!   experiment.json       plan hash, seed, cells, skipped cells, order
//!   plan.toml             the plan as read
//!   trials/CELL/REPEAT/   a result directory for each trial, or failed.json
//!   slices/LOAD/slices.jsonl   every slice of a load of a sliced experiment
//!   co_runners/NAME,cores=LIST/REPEAT/   each co-runner without load
//!   builds/TARGET.log     output of builds
//!   running.json          live process groups
//!   report.md, report.html, charts/   rendered from the above
//! ```

pub mod embedded;
mod one_load;
mod records;

use crate::{fs_error::with_path, group::distinct, schedule::Cell};
use brunt_results::lock::Lock;
use brunt_results::{RunResult, directory::Directory, env::Env};
use brunt_slices::{SlicedLoad, record};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::{fs, io};

pub use records::{Colocated, Experiment, Failure, SCHEMA, SUMMARY, Seconds, TrialRecord};

pub const PAGE_FILE: &str = "report.html";
pub const CHARTS_FOLDER: &str = "charts";
/// Marks charts drawn by brunt: only marked ones are ever removed.
pub const CHART_MARK: &str = "<desc>drawn by brunt from the results of a run";

/// Outcome of one trial, as its directory records.
#[derive(Debug, Clone, PartialEq)]
pub enum TrialOutcome {
    Done(Box<RunResult>),
    Failed(Failure),
}

#[derive(Debug, Clone)]
pub struct RunDirectory {
    path: PathBuf,
    /// It holds the result of one load, as its one trial.
    is_load: bool,
}

impl RunDirectory {
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_load: false }
    }

    /// The directory of one load, as that of a run with one trial.
    pub fn of_load(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), is_load: true }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn trial(&self, cell: &str, repeat: u32) -> PathBuf {
        if self.is_load {
            return self.path.clone();
        }
        self.path.join("trials").join(cell).join(repeat.to_string())
    }

    /// The slices of the load with these settings, as [`Cell::combination`] has them.
    pub fn slices(&self, combination: &str) -> PathBuf {
        let load = if combination.is_empty() { "all" } else { combination };
        self.path.join("slices").join(load).join(record::FILE)
    }

    /// What a co-runner does on these cores without load.
    pub fn co_runner(&self, name: &str, cores: &str, repeat: u32) -> PathBuf {
        self.path.join("co_runners").join(format!("{name},cores={cores}")).join(repeat.to_string())
    }

    pub fn build_log(&self, target: &str) -> PathBuf {
        self.path.join("builds").join(format!("{target}.log"))
    }

    pub fn registry_file(&self) -> PathBuf {
        self.path.join("running.json")
    }

    /// Every cell with its recorded repeats, ascending, and their outcomes.
    pub fn recorded_trials<'e>(
        &self,
        experiment: &'e Experiment,
    ) -> impl Iterator<Item = (&'e Cell, Vec<(u32, TrialOutcome)>)> {
        experiment.cells.run.iter().map(move |cell| {
            let repeats = self.repeats(cell.id()).into_iter();
            let trials = repeats.filter_map(|repeat| Some((repeat, self.outcome(cell.id(), repeat)?)));
            (cell, trials.collect())
        })
    }

    /// Every cell with a result, its repeats ascending, and their results.
    pub fn results<'e>(&self, experiment: &'e Experiment) -> impl Iterator<Item = (&'e Cell, Vec<(u32, RunResult)>)> {
        self.recorded_trials(experiment).filter_map(|(cell, trials)| {
            let done = trials.into_iter().filter_map(|(repeat, outcome)| match outcome {
                TrialOutcome::Done(result) => Some((repeat, *result)),
                TrialOutcome::Failed(_) => None,
            });
            Some((cell, done.collect::<Vec<_>>())).filter(|(_, done)| !done.is_empty())
        })
    }

    /// Every load of the experiment that has slices.
    pub fn sliced_loads(&self, experiment: &Experiment) -> io::Result<Vec<SlicedLoad>> {
        let cells = &experiment.cells.run;
        let loads = distinct(cells.iter().map(Cell::combination)).into_iter().filter(|load| self.slices(load).exists());
        let read = |load: &str| {
            let slices = record::read(&self.slices(load));
            let of_load = || cells.iter().filter(|cell| cell.combination() == load);
            Ok(SlicedLoad {
                load: load.to_owned(),
                open_loop: of_load().any(|cell| cell.rate().is_some()),
                server_cores: of_load().map(|cell| cell.placement.server.count()).max().unwrap_or(0),
                slices: slices.map_err(|why| io::Error::new(io::ErrorKind::InvalidData, why))?,
            })
        };
        loads.map(read).collect()
    }

    /// Reads `experiment.json`; `None` if there is none.
    pub fn experiment(&self) -> io::Result<Option<Experiment>> {
        if self.is_load {
            return one_load::experiment(&Directory::open(&self.path)).map(Some);
        }
        match Directory::open(&self.path).read_json::<Experiment>("experiment.json") {
            Ok(experiment) if experiment.schema == SCHEMA => Ok(Some(experiment)),
            Ok(experiment) => Err(self.unreadable(&format!("its format is '{}', not '{SCHEMA}'", experiment.schema))),
            Err(e) if matches!(e.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => Ok(None),
            Err(e) if e.kind() == io::ErrorKind::InvalidData => Err(self.unreadable(&e.to_string())),
            Err(e) => Err(e),
        }
    }

    fn unreadable(&self, why: &str) -> io::Error {
        let place = self.path.display();
        let message = format!(
            "{place} holds a run that cannot be read; it is damaged or of another version of brunt \
             ({why}): --fresh removes it and starts over, --out DIR uses another directory"
        );
        io::Error::new(io::ErrorKind::InvalidData, message)
    }

    /// Outcome of a trial; `None` if it did not run to its end.
    pub fn outcome(&self, cell: &str, repeat: u32) -> Option<TrialOutcome> {
        let directory = Directory::open(self.trial(cell, repeat));
        if self.colocated(cell, repeat).is_some_and(|beside| !beside.is_complete)
            && !directory.path().join("failed.json").exists()
        {
            return None;
        }
        if let Ok(result) = directory.read_result() {
            // Of a run, written by a tester that was stopped early, perhaps after brunt was killed; of one load, all that there is.
            return (self.is_load || !result.interrupted).then(|| TrialOutcome::Done(Box::new(result)));
        }
        directory.read_json("failed.json").ok().map(TrialOutcome::Failed)
    }

    pub fn colocated(&self, cell: &str, repeat: u32) -> Option<Colocated> {
        Directory::open(self.trial(cell, repeat)).read_json(Colocated::FILE).ok()
    }

    pub fn env(&self, cell: &str, repeat: u32) -> Option<Env> {
        Directory::open(self.trial(cell, repeat)).read_env().ok()
    }

    /// How a target was started in the first trial that has recorded it.
    pub fn command(&self, experiment: &Experiment, target: &str) -> Option<Vec<String>> {
        let cells = experiment.cells.run.iter().filter(|cell| cell.target == target);
        let mut records = cells.flat_map(|cell| {
            let repeats = self.repeats(cell.id()).into_iter();
            repeats.filter_map(|repeat| self.record(cell.id(), repeat))
        });
        records.next().map(|record| record.target).filter(|words| !words.is_empty())
    }

    pub fn record(&self, cell: &str, repeat: u32) -> Option<TrialRecord> {
        Directory::open(self.trial(cell, repeat)).read_json("trial.json").ok()
    }

    /// Repeats of a cell that have a directory, ascending.
    pub fn repeats(&self, cell: &str) -> Vec<u32> {
        if self.is_load {
            return vec![one_load::REPEAT];
        }
        let Ok(entries) = fs::read_dir(self.path.join("trials").join(cell)) else { return Vec::new() };
        let number = |entry: io::Result<fs::DirEntry>| entry.ok()?.file_name().to_str()?.parse().ok();
        let mut repeats: Vec<u32> = entries.filter_map(number).collect();
        repeats.sort_unstable();
        repeats
    }

    /// Whether the trial has a result. A failed trial does not and is run again.
    pub fn is_done(&self, cell: &str, repeat: u32) -> bool {
        matches!(self.outcome(cell, repeat), Some(TrialOutcome::Done(_)))
    }

    pub fn is_finished(&self, experiment: &Experiment) -> bool {
        let mut trials = experiment.order.iter().filter_map(|trial| trial.rsplit_once('/'));
        trials.all(|(cell, repeat)| repeat.parse().is_ok_and(|repeat| self.is_done(cell, repeat)))
    }

    /// Creates the directory and locks it against other runs, until the returned value is dropped.
    pub fn open(&self) -> io::Result<Lock> {
        Directory::create(&self.path)?;
        let place = self.path.join("lock");
        let file = File::options().create(true).truncate(false).write(true).open(&place).map_err(with_path(&place))?;
        match file.try_lock() {
            Ok(()) => Ok(Lock::of(file)),
            Err(TryLockError::WouldBlock) => Err(io::Error::other(format!(
                "another run is writing to {}: wait for it, or choose another directory with --out",
                self.path.display()
            ))),
            // Some network file systems have no locks.
            Err(TryLockError::Error(e)) if e.kind() == io::ErrorKind::Unsupported => Ok(Lock::of(file)),
            Err(TryLockError::Error(e)) => Err(with_path(&place)(e)),
        }
    }

    /// Removes the files of an earlier run, and no others.
    pub fn clear(&self) -> io::Result<()> {
        for name in ["trials", "slices", "builds", "co_runners"] {
            tolerate_absence(fs::remove_dir_all(self.path.join(name)))?;
        }
        for name in ["experiment.json", "plan.toml", "report.md", PAGE_FILE] {
            tolerate_absence(fs::remove_file(self.path.join(name)))?;
        }
        self.remove_charts_but(&[])
    }

    pub fn begin(&self, experiment: &Experiment, plan: &str) -> io::Result<()> {
        fs::create_dir_all(self.path.join("builds"))?;
        let directory = Directory::open(&self.path);
        directory.write("plan.toml", plan.as_bytes())?;
        directory.write_json("experiment.json", experiment)
    }

    /// Writes the charts, given as SVG and file name, and removes outdated ones.
    pub fn write_charts(&self, charts: &[(String, String)]) -> io::Result<()> {
        self.remove_charts_but(charts)?;
        let folder = self.path.join(CHARTS_FOLDER);
        if !charts.is_empty() {
            fs::create_dir_all(&folder).map_err(with_path(&folder))?;
        }
        for (svg, file) in charts {
            let place = folder.join(file);
            fs::write(&place, svg).map_err(with_path(&place))?;
        }
        Ok(())
    }

    /// Removes only files with our mark: the folder may hold others.
    fn remove_charts_but(&self, keep: &[(String, String)]) -> io::Result<()> {
        let folder = self.path.join(CHARTS_FOLDER);
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let is_current = keep.iter().any(|(_, file)| entry.file_name().to_str() == Some(file));
            let is_svg = entry.path().extension().is_some_and(|extension| extension == "svg");
            if is_svg && !is_current && fs::read_to_string(entry.path()).is_ok_and(|text| text.contains(CHART_MARK)) {
                tolerate_absence(fs::remove_file(entry.path()))?;
            }
        }
        // Fails if other files are left in it.
        let _ = fs::remove_dir(&folder);
        Ok(())
    }

    /// Replaces the page atomically, because a browser may be reading it.
    pub fn write_page(&self, page: &str) -> io::Result<()> {
        Directory::open(&self.path).write(PAGE_FILE, page.as_bytes())
    }

    pub fn write_report(&self, markdown: &str) -> io::Result<PathBuf> {
        Directory::open(&self.path).write("report.md", markdown.as_bytes())?;
        Ok(self.path.join("report.md"))
    }
}

fn tolerate_absence(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => Ok(()),
    }
}

/// The directory of a run without `--out`: the last of `NAME`, `NAME-2`, ... if it is unfinished, else the next one.
pub fn default_directory(parent: &Path, name: &str) -> io::Result<PathBuf> {
    let number = last_number(parent, name);
    let last = RunDirectory::at(numbered(parent, name, number));
    let is_finished = match last.experiment() {
        Ok(Some(experiment)) => last.is_finished(&experiment),
        // Neither a run nor empty: not ours. With a registry alone it is a run that was stopped before its first trial.
        Ok(None) => {
            !last.registry_file().exists()
                && fs::read_dir(last.path()).is_ok_and(|mut entries| entries.next().is_some())
        }
        Err(e) if e.kind() == io::ErrorKind::InvalidData => true,
        Err(e) => return Err(e),
    };
    Ok(numbered(parent, name, if is_finished { number + 1 } else { number }))
}

/// The last of `NAME`, `NAME-2`, `NAME-3`, finished or not; `NAME` if there is none.
pub fn last_directory(parent: &Path, name: &str) -> PathBuf {
    numbered(parent, name, last_number(parent, name))
}

fn last_number(parent: &Path, name: &str) -> u32 {
    (2..).take_while(|number| numbered(parent, name, *number).exists()).last().unwrap_or(1)
}

fn numbered(parent: &Path, name: &str, number: u32) -> PathBuf {
    match number {
        1 => parent.join(name),
        n => parent.join(format!("{name}-{n}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn experiment(order: &[&str]) -> Experiment {
        Experiment {
            schema: SCHEMA.into(),
            name: "x".into(),
            plan_hash: "h".into(),
            order: order.iter().map(|o| (*o).to_owned()).collect(),
            ..Experiment::default()
        }
    }

    #[test]
    fn an_unfinished_run_is_continued_and_a_finished_one_kept() {
        let home = tempfile::tempdir().unwrap();
        let parent = home.path();
        assert_eq!(default_directory(parent, "x").unwrap(), parent.join("x"));
        let store = RunDirectory::at(parent.join("x"));
        let _lock = store.open().unwrap();
        store.begin(&experiment(&["target=a/1"]), "plan").unwrap();
        assert_eq!(default_directory(parent, "x").unwrap(), parent.join("x"));
        store.begin(&experiment(&[]), "plan").unwrap();
        assert_eq!(default_directory(parent, "x").unwrap(), parent.join("x-2"));
        fs::create_dir(parent.join("x-2")).unwrap();
        assert_eq!(default_directory(parent, "x").unwrap(), parent.join("x-2"));
        fs::write(parent.join("x-2/mine.txt"), "not brunt's").unwrap();
        assert_eq!(default_directory(parent, "x").unwrap(), parent.join("x-3"));
        fs::create_dir(parent.join("x-3")).unwrap();
        fs::write(parent.join("x-3/experiment.json"), "{\"schema\": \"brunt.experiment/0\"}").unwrap();
        assert_eq!(default_directory(parent, "x").unwrap(), parent.join("x-4"));
        let error = RunDirectory::at(parent.join("x-3")).experiment().unwrap_err().to_string();
        assert!(error.contains("--fresh") && error.contains("--out"), "{error}");
    }

    #[test]
    fn a_directory_is_locked_by_one_run_and_foreign_files_survive_clearing() {
        let home = tempfile::tempdir().unwrap();
        let store = RunDirectory::at(home.path().join("run"));
        let lock = store.open().unwrap();
        assert!(store.open().unwrap_err().to_string().contains("another run"));
        drop(lock);
        let _lock = store.open().unwrap();
        store.begin(&experiment(&[]), "plan").unwrap();
        fs::write(home.path().join("run/mine.txt"), "").unwrap();
        store.clear().unwrap();
        assert!(store.experiment().unwrap().is_none());
        assert!(home.path().join("run/mine.txt").exists());
    }
}
