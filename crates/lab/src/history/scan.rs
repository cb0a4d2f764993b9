//! Finds result directories beneath a root. Does not follow symbolic links and does not descend into result
//! directories.

use super::entry::Entry;
use crate::Error;
use std::path::{Path, PathBuf};
use std::{fs, io};

#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) entries: Vec<(PathBuf, Entry)>,
    pub(super) unreadable: Vec<String>,
}

impl Found {
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
