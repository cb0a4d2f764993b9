//! Several runs in one report, to look at last week's beside today's: every target bears the name of its run. What each
//! run says of itself (its doubts, its machine, its command) stays its own and is not mixed here.

use super::{Report, charts, row};
use crate::{fs_error::with_path, run_directory::RunDirectory};
use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// A run to be shown.
#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// Tells it from others; empty if it is shown alone.
    pub name: String,
    /// What its directory tells.
    pub report: &'a Report,
    /// Its directory.
    pub store: &'a RunDirectory,
    /// The way to its directory from where the report is: empty, or ending in `/`.
    pub place: String,
}

impl<'a> Run<'a> {
    /// A run shown alone, by a page in its directory.
    pub fn alone(report: &'a Report, store: &'a RunDirectory) -> Self {
        Self { name: String::new(), report, store, place: String::new() }
    }
}

/// The rows of all runs, those of one target together, then sorted as in any report.
pub(super) fn merged(runs: &[Run]) -> Report {
    let targets: Vec<Vec<String>> = runs.iter().map(|run| charts::targets(run.report)).collect();
    let mut order: Vec<&String> = Vec::new();
    for target in targets.iter().flatten() {
        if !order.contains(&target) {
            order.push(target);
        }
    }
    let mut all: Vec<super::Row> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        all.extend(run.report.rows.iter().map(|row| super::Row { run: number, ..row.clone() }));
    }
    all.sort_by_key(|row| (order.iter().position(|target| **target == row.cell.target), row.run));
    let baseline = common(runs, |run| run.report.experiment.baseline.clone()).flatten();
    for row in &mut all {
        row.cell.target = format!("{}: {}", runs[row.run].name, row.cell.target);
        // A column of ratios over different targets would compare nothing.
        row.against_baseline = row.against_baseline.filter(|_| baseline.is_some());
    }
    let mut whole = Report {
        experiment: runs[0].report.experiment.clone(),
        rows: Vec::new(),
        not_run: runs.iter().map(|run| run.report.not_run).sum(),
        repeated: 0,
        skipped: Vec::new(),
        envs: runs.iter().flat_map(|run| run.report.envs.clone()).collect(),
    };
    let experiment = &mut whole.experiment;
    let mut names: Vec<&str> = runs.iter().map(|run| run.report.experiment.name.as_str()).collect();
    names.dedup();
    experiment.name = names.join(", ");
    experiment.description = common(runs, |run| run.report.experiment.description.clone()).unwrap_or_default();
    experiment.repeats = common(runs, |run| run.report.experiment.repeats).unwrap_or(0);
    experiment.best_over = common(runs, |run| run.report.experiment.best_over.clone()).flatten();
    experiment.baseline = baseline;
    experiment.cells.run = all.iter().map(|row| row.cell.clone()).collect();
    row::sort(&mut all);
    whole.rows = all;
    whole
}

/// What is the same in all runs.
fn common<T: PartialEq>(runs: &[Run], of: impl Fn(&Run) -> T) -> Option<T> {
    let first = of(runs.first()?);
    runs.iter().all(|run| of(run) == first).then_some(first)
}

/// What to call the runs of these directories: the ends of their paths, as long as it takes to tell them apart.
///
/// # Errors
/// A directory cannot be found, or two of them are one.
pub fn run_names(dirs: &[PathBuf]) -> io::Result<Vec<String>> {
    let mut paths: Vec<Vec<String>> = Vec::new();
    for dir in dirs {
        let path = whole(dir)?;
        let parts: Vec<String> =
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect();
        if let Some(same) = paths.iter().position(|known| *known == parts) {
            let message = format!("{} and {} are one directory: name it once", dirs[same].display(), dir.display());
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        paths.push(parts);
    }
    let end = |parts: &[String], length: usize| parts[parts.len().saturating_sub(length)..].join("/");
    let name = |parts: &Vec<String>| {
        let is_own = |length: &usize| paths.iter().filter(|one| end(one, *length) == end(parts, *length)).count() == 1;
        end(parts, (1..parts.len()).find(is_own).unwrap_or(parts.len()))
    };
    Ok(paths.iter().map(name).collect())
}

/// The way from the folder of a file, which need not be there yet, to a directory: empty, or ending in `/`.
///
/// # Errors
/// One of them cannot be found.
pub fn relative_path(file: &Path, dir: &Path) -> io::Result<String> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let (from, to) = (whole(folder)?, whole(dir)?);
    let common = from.components().zip(to.components()).take_while(|(one, other)| one == other).count();
    let up = from.components().skip(common).map(|_| "..".to_owned());
    let down = to.components().skip(common).map(|part: Component| part.as_os_str().to_string_lossy().into_owned());
    Ok(up.chain(down).map(|part| part + "/").collect())
}

fn whole(path: &Path) -> io::Result<PathBuf> {
    fs::canonicalize(path).map_err(with_path(path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_called_by_the_ends_of_their_paths_and_found_from_the_page() {
        let home = tempfile::tempdir().unwrap();
        let dir = |path: &str| {
            let dir = home.path().join(path);
            fs::create_dir_all(&dir).unwrap();
            dir
        };
        let (monday, tuesday, other) = (dir("monday/quick"), dir("tuesday/quick"), dir("other"));
        assert_eq!(run_names(&[monday.clone(), other.clone()]).unwrap(), ["quick", "other"]);
        let both = [monday.clone(), tuesday.clone(), other.clone()];
        assert_eq!(run_names(&both).unwrap(), ["monday/quick", "tuesday/quick", "other"]);
        let twice = run_names(&[monday.clone(), monday.join("../quick")]).unwrap_err().to_string();
        assert!(twice.ends_with("quick/../quick are one directory: name it once"), "{twice}");
        let none = run_names(&[home.path().join("none")]).unwrap_err().to_string();
        assert!(none.contains("none: "), "{none}");

        assert_eq!(relative_path(&monday.join("page.html"), &monday).unwrap(), "");
        assert_eq!(relative_path(&home.path().join("page.html"), &monday).unwrap(), "monday/quick/");
        assert_eq!(relative_path(&tuesday.join("page.html"), &monday).unwrap(), "../../monday/quick/");
    }
}
