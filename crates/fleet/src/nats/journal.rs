//! The journal of an agent: what it has measured in one run, on its own disk.
//!
//! A directory `RUN-EPOCH-INCARNATION` has a file for each second, the table as it is sent, `task.json` with the load, and `end.json` once
//! it has ended. It is the truth of what the agent did: the coordinator asks for what it lacks from here, and a run whose coordinator
//! is gone is collected from here.

use crate::words::{Digest, End, Table, Task};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TASK: &str = "task.json";
const END: &str = "end.json";

/// One run on this agent.
pub struct Journal {
    directory: PathBuf,
    seconds: u64,
    digest: Digest,
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
        Ok(Self { directory, seconds: 0, digest: Digest::default() })
    }

    /// Writes what the load is.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn describe(&self, task: &Task) -> io::Result<()> {
        fs::write(self.directory.join(TASK), serde_json::to_vec(task)?)
    }

    /// Writes how it has ended.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn finish(&self, end: &End) -> io::Result<()> {
        fs::write(self.directory.join(END), serde_json::to_vec(end)?)
    }

    /// Adds the next second.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn keep(&mut self, second: u64, table: &Table) -> io::Result<()> {
        let bytes = table.encode();
        fs::write(self.path(second), &bytes)?;
        self.digest.write(&bytes);
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

    /// Digest of all seconds.
    pub fn digest(&self) -> String {
        self.digest.text()
    }

    fn path(&self, second: u64) -> PathBuf {
        self.directory.join(second.to_string())
    }
}

/// The journal of a run as it was kept, of the last incarnation that has seconds of it.
#[derive(Debug)]
pub(super) struct Kept {
    directory: PathBuf,
    pub epoch: u64,
    pub incarnation: u64,
    pub task: Task,
    pub seconds: u64,
    /// How it has ended; `None` if the agent was killed before.
    pub end: Option<End>,
}

impl Kept {
    pub fn find(directory: &Path, run: &str) -> Option<Self> {
        let all = fs::read_dir(directory).ok()?.flatten();
        let kept = all.filter_map(|entry| Self::read(entry.path(), run));
        let kept = kept.filter(|kept| kept.seconds > 0);
        kept.max_by_key(|kept| fs::metadata(kept.directory.join(TASK)).and_then(|file| file.modified()).ok())
    }

    fn read(directory: PathBuf, run: &str) -> Option<Self> {
        let rest = directory.file_name()?.to_str()?.strip_prefix(run)?.strip_prefix('-')?;
        let (epoch, incarnation) = rest.split_once('-')?;
        let (epoch, incarnation) = (epoch.parse().ok()?, u64::from_str_radix(incarnation, 16).ok()?);
        let task = serde_json::from_slice(&fs::read(directory.join(TASK)).ok()?).ok()?;
        let end = fs::read(directory.join(END)).ok().and_then(|text| serde_json::from_slice(&text).ok());
        let is_there = |second: &u64| directory.join(second.to_string()).is_file();
        let seconds = (0..).take_while(is_there).count() as u64;
        Some(Self { directory, epoch, incarnation, task, seconds, end })
    }

    pub fn second(&self, second: u64) -> io::Result<Vec<u8>> {
        fs::read(self.directory.join(second.to_string()))
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
