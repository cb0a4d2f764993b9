//! Another commit checked out beside the work tree, as a worktree of git. Removed when dropped, also after errors and Ctrl-C;
//! what a killed process leaves, the next one in the same folder removes.

use super::repository::{Repository, git};
use crate::fs_error::with_path;
use brunt_results::Error;
use brunt_results::lock::Lock;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

#[derive(Debug)]
pub struct Worktree {
    repository: PathBuf,
    path: PathBuf,
    /// One process at a time uses the folder.
    _lock: Lock,
}

impl Worktree {
    /// Checks `commit` out below `folder`, which is created.
    pub fn add(repository: &Repository, commit: &str, folder: &Path) -> Result<Self, Error> {
        fs::create_dir_all(folder).map_err(with_path(folder))?;
        let folder = folder.canonicalize().map_err(with_path(folder))?;
        let lock = folder.join("lock");
        let lock = File::options().create(true).append(true).open(&lock).map_err(with_path(&lock))?;
        lock.try_lock().map_err(|error| match error {
            TryLockError::WouldBlock => {
                let place = folder.display();
                Error::Failed(format!("another brunt uses {place}: wait for it, or give another --build-dir"))
            }
            TryLockError::Error(error) => with_path(&folder)(error).into(),
        })?;
        let worktree = Self { repository: repository.root.clone(), path: folder.join("base"), _lock: Lock::of(lock) };
        worktree.remove();
        let place = worktree.path.to_string_lossy();
        // Twice: one that a killed git left behind is locked.
        let add = ["worktree", "add", "--quiet", "--detach", "--force", "--force", &place, commit];
        git(&repository.root, &add)?
            .map_err(|why| Error::Failed(format!("cannot check {commit} out to {place}: {why}")))?;
        Ok(worktree)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    fn remove(&self) {
        if fs::symlink_metadata(&self.path).is_err() {
            return;
        }
        let _ = git(&self.repository, &["worktree", "remove", "--force", "--force", &self.path.to_string_lossy()]);
        // Git refuses what is not, or not completely, its own.
        let _ = fs::remove_dir_all(&self.path);
        let _ = git(&self.repository, &["worktree", "prune"]);
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        self.remove();
    }
}
