//! A lock on a file (flock) that ends when it is dropped.

use std::fs::{File, TryLockError};
use std::ops::Deref;
use std::path::Path;

/// Unlocks when dropped. Closing the file alone is not enough: a child process that was just forked has a copy of the
/// descriptor, which keeps the lock, until it starts its program.
#[derive(Debug)]
pub struct Lock(File);

impl Lock {
    /// Of a file that is locked, or on a file system without locks.
    pub fn of(file: File) -> Self {
        Self(file)
    }
}

impl Deref for Lock {
    type Target = File;
    fn deref(&self) -> &File {
        &self.0
    }
}

/// Whether a process holds the lock of a file; `None` if that cannot be known.
pub fn is_locked(path: &Path) -> Option<bool> {
    let file = File::open(path).ok()?;
    match file.try_lock_shared() {
        Ok(()) => {
            drop(Lock::of(file));
            Some(false)
        }
        Err(TryLockError::WouldBlock) => Some(true),
        Err(TryLockError::Error(_)) => None,
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        let _ = self.0.unlock();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_of_the_descriptor_does_not_keep_the_lock() {
        let place = tempfile::NamedTempFile::new().unwrap();
        let file = File::open(place.path()).unwrap();
        file.try_lock().unwrap();
        let _of_a_child = file.try_clone().unwrap();
        let again = File::open(place.path()).unwrap();
        assert!(again.try_lock().is_err());
        assert_eq!(is_locked(place.path()), Some(true));
        drop(Lock::of(file));
        assert_eq!(is_locked(place.path()), Some(false));
        again.try_lock().unwrap();
    }
}
