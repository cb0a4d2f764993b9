//! A plan as a file, and why a run of it cannot begin.

use brunt_colocate::controller::check_here;
use brunt_colocate::plan::Plan;
use brunt_results::Error;
use std::path::Path;
use std::{fs, io};

pub(super) fn plan(path: &Path) -> Result<Plan, Error> {
    let name = path.display().to_string();
    let text = fs::read_to_string(path).map_err(|error| Error::Usage(format!("{name}: {error}")))?;
    Plan::parse(&name, &text).map_err(|error| Error::Usage(error.to_string()))
}

/// Whether what the plan names is on this machine, before anything is started or written.
pub(super) fn check(path: &Path, plan: &Plan) -> Result<(), Error> {
    check_here(plan).map_err(|why| Error::Usage(format!("{}: {why}", path.display())))
}

/// The error of a run that could not begin.
pub(super) fn failed(error: io::Error) -> Error {
    match error.kind() {
        io::ErrorKind::InvalidInput => Error::Usage(error.to_string()),
        _ => Error::Failed(error.to_string()),
    }
}
