//! The results that the page may show. Invariant: a directory is read only if it is one of these, under the one path that has
//! no symbolic links, and contains no link that leads out of it.

use brunt_lab::history::{self, Filter, Index, Run};
use brunt_results::Error;
use brunt_results::directory::Directory;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long a list of the directories below a root is kept.
const FRESH: Duration = Duration::from_secs(2);
/// Depth to which running loads are looked for, below a root.
const DEPTH: usize = 3;
/// Directories that are looked at for running loads, and entries for links, at most.
const MOST: usize = 20_000;

#[derive(Debug)]
pub(super) struct Results {
    from: From,
    /// Folder of the loads that the page starts.
    started: Option<PathBuf>,
}

#[derive(Debug)]
enum From {
    /// Those of `brunt list`: the folder of its index.
    Listed(PathBuf),
    /// Those below a directory, as they were found last.
    Below { root: PathBuf, known: Mutex<Option<(Instant, Found)>> },
}

#[derive(Debug, Clone, Default)]
pub(super) struct Found {
    pub runs: Vec<Run>,
    /// Directories of loads that are being written and are no finished result.
    pub running: Vec<PathBuf>,
    /// Runs in all.
    pub all: usize,
}

impl Results {
    pub fn listed(started: Option<PathBuf>) -> Result<Self, Error> {
        Ok(Self { from: From::Listed(history::folder()?), started })
    }

    pub fn below(root: &Path, started: Option<PathBuf>) -> Result<Self, Error> {
        let unusable = |why: String| {
            Error::Usage(format!(
                "{}: {why}: name a directory with results of brunt run or brunt load --out",
                root.display()
            ))
        };
        let root = root.canonicalize().map_err(|error| unusable(error.to_string()))?;
        if !root.is_dir() {
            return Err(unusable("it is no directory".to_owned()));
        }
        Ok(Self { from: From::Below { root, known: Mutex::default() }, started })
    }

    /// The directory that the page is for, if that holds one load or run, or is to hold one.
    pub fn only(&self, will_hold: bool) -> Option<&Path> {
        let From::Below { root, .. } = &self.from else { return None };
        let files = ["load.json", "result.json", "experiment.json"];
        (will_hold || files.iter().any(|file| root.join(file).exists())).then_some(root)
    }

    /// Where the results come from, for the page.
    pub fn title(&self) -> String {
        match &self.from {
            From::Listed(_) => "the results of brunt list".to_owned(),
            From::Below { root, .. } => format!("the results below {}", root.display()),
        }
    }

    /// The newest results, at most `limit`.
    pub fn find(&self, limit: usize) -> Result<Found, Error> {
        match &self.from {
            From::Listed(folder) => {
                let mut index = Index::open(folder)?;
                index.refresh()?;
                let (runs, all) = index.runs(&Filter::default(), limit)?;
                Ok(Found { runs, all, running: running(self.started.iter().map(PathBuf::as_path)) })
            }
            From::Below { root, known } => {
                let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
                let fresh = known.as_ref().filter(|(at, _)| at.elapsed() < FRESH);
                let mut found = match fresh {
                    Some((_, found)) => found.clone(),
                    None => self.search(root)?,
                };
                *known = Some((Instant::now(), found.clone()));
                found.runs.truncate(limit);
                Ok(found)
            }
        }
    }

    fn search(&self, root: &Path) -> Result<Found, Error> {
        let started = self.started.iter().filter(|started| started.is_dir() && !started.starts_with(root));
        let roots: Vec<PathBuf> = started.cloned().chain([root.to_owned()]).collect();
        // Gone with the search: a signal ends a process without clean-up.
        let folder = tempfile::Builder::new().prefix("brunt-ui-").tempdir()?;
        let mut index = Index::open(folder.path())?;
        index.rebuild(&roots)?;
        let (runs, all) = index.runs(&Filter::default(), usize::MAX)?;
        Ok(Found { runs, all, running: running(roots.iter().map(PathBuf::as_path)) })
    }

    /// The directory of a result that may be shown, if `dir` is the path of one.
    pub fn admit(&self, dir: &str) -> Option<PathBuf> {
        let asked = Path::new(dir);
        let real = asked.canonicalize().ok().filter(|real| real.as_os_str() == asked.as_os_str() && real.is_dir())?;
        let is_within = |folder: &PathBuf| real.starts_with(folder) && real != *folder;
        let is_started = self.started.iter().filter_map(|folder| folder.canonicalize().ok()).any(|own| is_within(&own));
        let is_known = is_started
            || match &self.from {
                From::Listed(folder) => history::is_listed(folder, &real).unwrap_or(false),
                From::Below { root, .. } => real.starts_with(root),
            };
        is_known.then_some(real)
    }
}

/// Why a directory is not shown: a link in it leads elsewhere.
pub(super) fn leads_out(dir: &Path) -> Option<String> {
    let mut rest = vec![dir.to_owned()];
    let mut left = MOST;
    while let Some(folder) = rest.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            let Some(fewer) = left.checked_sub(1) else {
                return Some(format!("{} holds more than {MOST} files", dir.display()));
            };
            left = fewer;
            match entry.file_type() {
                Ok(kind) if kind.is_dir() => rest.push(entry.path()),
                Ok(kind) if kind.is_symlink() => {
                    let is_inside = entry.path().canonicalize().is_ok_and(|target| target.starts_with(dir));
                    if !is_inside {
                        return Some(format!("{} is a link that leads out of the result", entry.path().display()));
                    }
                }
                _ => (),
            }
        }
    }
    None
}

/// Directories below these in which a load is running.
fn running<'a>(roots: impl Iterator<Item = &'a Path>) -> Vec<PathBuf> {
    let mut rest: Vec<(PathBuf, usize)> = roots.map(|root| (root.to_owned(), 0)).collect();
    let (mut found, mut left) = (BTreeSet::new(), MOST);
    while let Some((dir, depth)) = rest.pop() {
        left = left.saturating_sub(1);
        if dir.join("load.json").exists() {
            if !Directory::open(&dir).is_complete() && Directory::open(&dir).is_written() == Some(true) {
                found.insert(dir);
            }
        } else if depth < DEPTH && left > 0 && !dir.join("experiment.json").exists() {
            let within = fs::read_dir(&dir).into_iter().flatten().flatten();
            let folders = within.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
            rest.extend(folders.map(|entry| (entry.path(), depth + 1)));
        }
    }
    found.into_iter().rev().collect()
}
