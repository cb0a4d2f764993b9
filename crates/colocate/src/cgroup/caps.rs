//! CPU time of single jobs in version 1 of control groups, where a group may not have a greater share of the cores than the one
//! above it: whoever changes that of all jobs has to change these, too.

use brunt_meter::cgroup::Files;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

#[derive(Debug, Default)]
pub struct Caps(Mutex<Vec<(PathBuf, f64)>>);

impl Caps {
    /// A job's own directory, and the most CPU time that it may have, in cores.
    pub fn add(&self, dir: &Path, cores: f64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push((dir.to_owned(), cores));
    }

    /// Those of the jobs that are left.
    pub fn all(&self, files: &dyn Files) -> Vec<(PathBuf, f64)> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|(dir, _)| files.exists(dir));
        all.clone()
    }
}
