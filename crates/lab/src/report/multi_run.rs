//! Several runs in one report: target names are prefixed with the name of their run; verdicts, machine and command
//! stay separate per run.

use super::{Report, charts, row};
use crate::group::distinct;
use crate::{fs_error::with_path, run_directory::RunDirectory};
use brunt_slices::LoadComparison;
use std::path::{Component, Path, PathBuf};
use std::{fs, io};

#[derive(Debug, Clone)]
pub struct Run<'a> {
    /// Distinguishes it from the other runs; empty if it is shown alone.
    pub name: String,
    pub report: &'a Report,
    pub store: &'a RunDirectory,
    /// Path from the report to the run directory: empty, or ending in `/`.
    pub place: String,
}

/// Merges the rows of all runs, grouped by target, then sorted as usual.
pub(super) fn merged(runs: &[Run]) -> Report {
    let targets: Vec<Vec<String>> = runs.iter().map(|run| charts::targets(run.report)).collect();
    let order = distinct(targets.iter().flatten());
    let mut all: Vec<super::Row> = Vec::new();
    for (number, run) in runs.iter().enumerate() {
        all.extend(run.report.rows.iter().map(|row| super::Row { run: number, ..row.clone() }));
    }
    all.sort_by_key(|row| (order.iter().position(|target| **target == row.cell.target), row.run));
    let baseline = common(runs, |run| run.report.experiment.baseline.clone()).flatten();
    for row in &mut all {
        row.cell.target = format!("{}: {}", runs[row.run].name, row.cell.target);
        // Ratios to different baselines are not comparable.
        row.against_baseline = row.against_baseline.filter(|_| baseline.is_some());
    }
    let mut names: Vec<&str> = runs.iter().map(|run| run.report.experiment.name.as_str()).collect();
    names.dedup();
    let mut experiment = runs[0].report.experiment.clone();
    experiment.name = names.join(", ");
    experiment.description = common(runs, |run| run.report.experiment.description.clone()).unwrap_or_default();
    experiment.repeats = common(runs, |run| run.report.experiment.repeats).unwrap_or(0);
    experiment.best_over = common(runs, |run| run.report.experiment.best_over.clone()).flatten();
    experiment.baseline = baseline;
    experiment.cells.run = all.iter().map(|row| row.cell.clone()).collect();
    row::sort(&mut all);
    let all_of = |of: fn(&Report) -> &[LoadComparison]| {
        runs.iter().flat_map(|run| of(run.report).iter().map(|load| named(load, &run.name))).collect()
    };
    let (comparisons, by_trials) = (all_of(|report| &report.comparisons), all_of(|report| &report.by_trials));
    let differences = runs.iter().flat_map(|run| run.report.differences.iter().map(|load| load.named(&run.name)));
    let differences = differences.collect();
    let not_run = runs.iter().map(|run| run.report.not_run).sum();
    let envs = runs.iter().flat_map(|run| run.report.envs.clone()).collect();
    let (skipped, timeline) = (Vec::new(), None);
    // The same for all.
    let published = runs[0].report.published.clone();
    Report { experiment, rows: all, comparisons, by_trials, differences, not_run, skipped, envs, timeline, published }
}

/// The comparison with target names prefixed.
fn named(load: &LoadComparison, run: &str) -> LoadComparison {
    let mut load = load.clone();
    load.baseline = format!("{run}: {}", load.baseline);
    for target in &mut load.targets {
        target.target = format!("{run}: {}", target.target);
    }
    load
}

fn common<T: PartialEq>(runs: &[Run], of: impl Fn(&Run) -> T) -> Option<T> {
    let first = of(runs.first()?);
    runs.iter().all(|run| of(run) == first).then_some(first)
}

/// Names for the runs of these directories: the shortest distinct endings of their paths.
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

/// Relative path from the folder of `file`, which need not exist, to a directory: empty, or ending in `/`.
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
