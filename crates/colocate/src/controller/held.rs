//! Files that the run holds open. Other processes can remove or replace them: writes then go to a file without a name.

use std::fs;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub(super) struct Held {
    path: PathBuf,
    /// Device and number of the file.
    file: Option<(u64, u64)>,
    /// What follows where it is gone.
    follows: &'static str,
}

impl Held {
    /// The file is open.
    pub(super) fn new(path: &Path, follows: &'static str) -> Self {
        Self { path: path.to_owned(), file: file(path), follows }
    }

    /// That another file is there, or none.
    pub(super) fn fault(&self) -> Option<String> {
        let is_same = self.file.is_none() || file(&self.path) == self.file;
        (!is_same).then(|| format!("{} was removed or replaced: {}", self.path.display(), self.follows))
    }
}

fn file(path: &Path) -> Option<(u64, u64)> {
    fs::metadata(path).ok().map(|data| (data.dev(), data.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_grows_is_the_same_and_one_that_is_removed_or_replaced_is_not() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a.jsonl");
        fs::write(&path, "1").unwrap();
        let held = Held::new(&path, "nothing is added");
        fs::write(&path, "12").unwrap();
        assert_eq!(held.fault(), None);
        let other = home.path().join("b");
        fs::write(&other, "").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(held.fault(), Some(format!("{} was removed or replaced: nothing is added", path.display())));
        fs::remove_file(&path).unwrap();
        assert!(held.fault().is_some());
    }
}
