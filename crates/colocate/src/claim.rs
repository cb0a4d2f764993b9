//! A claim to what only one run may have: its service, the directory of its results. It ends with the process, however that ends.

use crate::clock;
use brunt_results::lock::Lock;
use std::fs::{self, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest time from a lock until the words of its holder are in the file.
const WRITTEN: Duration = Duration::from_millis(500);

/// A locked file, which is removed when this is dropped. It has the process that holds it in its first line.
#[derive(Debug)]
pub struct Claim {
    path: PathBuf,
    /// Unlocked after the file is removed.
    _lock: Lock,
}

impl Claim {
    /// Claims what the file stands for.
    ///
    /// # Errors
    /// Another process has it (`AddrInUse`), which the error names with its words; or the file cannot be made.
    pub fn take(path: &Path, words: &str) -> io::Result<Self> {
        let named = |error: io::Error| io::Error::new(error.kind(), format!("{}: {error}", path.display()));
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(named)?;
        }
        loop {
            let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path);
            let file = open.map_err(named)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Err(io::Error::new(io::ErrorKind::AddrInUse, holder(path))),
                Err(TryLockError::Error(error)) => return Err(named(error)),
            }
            // Its last holder may have removed it meanwhile.
            let is_same = fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|own| own.ino() == now.ino()));
            if is_same {
                file.set_len(0).map_err(named)?;
                (&file).write_all(format!("process {}, {words}\n", std::process::id()).as_bytes()).map_err(named)?;
                return Ok(Self { path: path.to_owned(), _lock: Lock::of(file) });
            }
        }
    }
}

/// Words on the holder of a locked file, which are written just after it is locked.
fn holder(path: &Path) -> String {
    let begin = clock::now();
    loop {
        let words = fs::read_to_string(path).unwrap_or_default();
        if words.ends_with('\n') {
            return words.trim().to_owned();
        }
        if clock::since(begin) > WRITTEN {
            return "a process that has just started".to_owned();
        }
        clock::sleep(Duration::from_millis(1));
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_has_it_at_a_time_and_the_other_is_told_who() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("state/a.lock");
        let first = Claim::take(&path, "results in runs/one").unwrap();
        let error = Claim::take(&path, "").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
        assert_eq!(error.to_string(), format!("process {}, results in runs/one", std::process::id()));
        drop(first);
        assert!(!path.exists());
        // Locked, and nothing written yet.
        let silent = fs::File::create(&path).unwrap();
        silent.lock().unwrap();
        let later = std::thread::spawn({
            let path = path.clone();
            move || Claim::take(&path, "").unwrap_err().to_string()
        });
        (&silent).write_all(b"process 7, results in b\n").unwrap();
        assert_eq!(later.join().unwrap(), "process 7, results in b");
        drop(silent);
        // What a holder left that was killed is no claim.
        fs::write(&path, "process 1\n").unwrap();
        let _second = Claim::take(&path, "").unwrap();
    }
}
