//! The HTML page of a result directory.

use brunt_lab::report::{self, Run};
use brunt_lab::run_directory::RunDirectory;
use brunt_results::Error;
use brunt_results::directory::Directory;
use std::path::Path;

/// The results in a directory, of a run or of one load. An error calls it `named`.
pub fn store(dir: &Path, named: &Path) -> Result<RunDirectory, Error> {
    match RunDirectory::at(dir).experiment()? {
        Some(_) => Ok(RunDirectory::at(dir)),
        None if Directory::open(dir).is_complete() => Ok(RunDirectory::of_load(dir)),
        None => Err(no_results(named)),
    }
}

/// The page that `brunt report DIR --html` writes.
pub fn page(dir: &Path) -> Result<String, Error> {
    let store = store(dir, dir)?;
    let report = report::read_from(&store)?;
    let run = Run { name: String::new(), report: &report, store: &store, place: String::new() };
    Ok(report::page_of_runs(&[run])?)
}

pub fn no_results(dir: &Path) -> Error {
    let dir = dir.display();
    let message = "holds no results: neither experiment.json (brunt run) nor result.json (brunt load --out)";
    Error::Usage(format!("{dir} {message}"))
}
