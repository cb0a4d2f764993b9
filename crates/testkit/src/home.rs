//! Temporary homes: a folder for everything that a test writes, removed at its end.

use std::ops::Deref;
use std::path::{Path, PathBuf};

/// A folder that is removed on drop. Its path has no links in it, so it compares equal to what a program reports.
pub struct Home {
    path: PathBuf,
    _folder: tempfile::TempDir,
}

/// A new folder.
pub fn home() -> Home {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().canonicalize().expect("its path");
    Home { path, _folder: folder }
}

impl Home {
    /// The folder, also for what takes no [`Deref`].
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for Home {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for Home {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}
