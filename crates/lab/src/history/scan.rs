//! Finds the directories with results beneath a root. It never follows links and never looks into a directory that holds
//! results: what lies in there belongs to it.

use super::entry::Entry;
use crate::Error;
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What lies beneath a root.
#[derive(Debug, Default)]
pub(super) struct Found {
    /// Each directory and what it holds.
    pub(super) entries: Vec<(PathBuf, Entry)>,
    /// What cannot be read, and why.
    pub(super) unreadable: Vec<String>,
}

impl Found {
    /// Adds what lies beneath this root.
    ///
    /// # Errors
    /// The root itself is no directory that can be read.
    pub(super) fn beneath(&mut self, root: &Path) -> Result<(), Error> {
        let named = |error: io::Error| Error::Usage(format!("{}: {error}", root.display()));
        fs::read_dir(root).map_err(named)?;
        let mut rest = vec![root.to_owned()];
        while let Some(dir) = rest.pop() {
            match Entry::read(&dir) {
                Ok(Some(entry)) => self.entries.push((dir, entry)),
                Ok(None) => match fs::read_dir(&dir) {
                    Ok(within) => rest.extend(directories(within)),
                    Err(error) => self.unreadable.push(format!("{}: {error}", dir.display())),
                },
                Err(error) => self.unreadable.push(error.to_string()),
            }
        }
        Ok(())
    }
}

fn directories(within: fs::ReadDir) -> impl Iterator<Item = PathBuf> {
    within.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|entry| entry.path())
}
