//! The journal of an agent: what it has measured in one run, on its own disk.
//!
//! A directory `RUN-EPOCH-INCARNATION` has a file for each second, the table as it is sent. It is the truth of what the agent did: the
//! coordinator asks for what it lacks from here, and a run whose coordinator is gone can be read from here.

use crate::words::Table;
use fnv::FnvHasher;
use std::fs;
use std::hash::Hasher as _;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// One run on this agent.
pub struct Journal {
    directory: PathBuf,
    seconds: u64,
    hash: FnvHasher,
}

impl Journal {
    /// An empty one, below `directory`.
    ///
    /// # Errors
    /// It cannot be made, or is there already.
    pub fn create(directory: &Path, run: &str, epoch: u64, incarnation: u64) -> io::Result<Self> {
        let directory = directory.join(format!("{run}-{epoch}-{incarnation:016x}"));
        fs::create_dir_all(directory.parent().unwrap_or(&directory))?;
        fs::create_dir(&directory)?;
        Ok(Self { directory, seconds: 0, hash: FnvHasher::default() })
    }

    /// Adds the next second.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, second: u64, table: &Table) -> io::Result<()> {
        let bytes = table.encode();
        fs::write(self.path(second), &bytes)?;
        self.hash.write(&bytes);
        self.seconds = second + 1;
        Ok(())
    }

    /// Reads a second, as bytes of its table.
    ///
    /// # Errors
    /// It is not there.
    pub fn read(&self, second: u64) -> io::Result<Vec<u8>> {
        fs::read(self.path(second))
    }

    /// Seconds that it has, from 0 on.
    pub fn seconds(&self) -> u64 {
        self.seconds
    }

    /// 64-bit FNV-1a of all seconds, as 16 hexadecimal digits.
    pub fn digest(&self) -> String {
        format!("{:016x}", self.hash.finish())
    }

    fn path(&self, second: u64) -> PathBuf {
        self.directory.join(second.to_string())
    }
}

/// Removes what is older than this; errors are those of the next run.
pub fn clean(directory: &Path, age: Duration) {
    let runs = fs::read_dir(directory).into_iter().flatten().flatten();
    for run in runs {
        let modified = run.metadata().and_then(|metadata| metadata.modified());
        if modified.is_ok_and(|at| at.elapsed().is_ok_and(|since| since > age)) {
            let _ = fs::remove_dir_all(run.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_read_as_they_were_kept() {
        let home = tempfile::tempdir().unwrap();
        let table = |count: u64| Table { counters: [("n".to_owned(), count)].into(), ..Table::default() };
        let mut journal = Journal::create(home.path(), "r", 1, 7).unwrap();
        let empty = journal.digest();
        for second in 0..3 {
            journal.keep(second, &table(second)).unwrap();
        }
        assert_eq!(journal.seconds(), 3);
        assert_eq!(Table::decode(&journal.read(1).unwrap()), Ok(table(1)));
        assert!(journal.read(3).is_err() && journal.digest() != empty);
        assert!(Journal::create(home.path(), "r", 1, 7).is_err());
        clean(home.path(), Duration::from_secs(3600));
        assert!(journal.read(0).is_ok());
        clean(home.path(), Duration::ZERO);
        assert!(journal.read(0).is_err());
    }
}
