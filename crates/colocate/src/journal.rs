//! What was changed on this machine, in a file, so that it is undone after any crash.
//!
//! The first line names the process and the boot; every other line is a [`Change`] in JSON. Invariants:
//! - A change is on disk before it is made. A last line without its end describes a change that was never made.
//! - The file is locked while the process that makes the changes lives, and removed once all of them are undone.
//! - Undoing is idempotent: it may be interrupted and repeated.

mod contents;
mod undo;

pub use contents::{Change, Contents, Owner};

use brunt_meter::cgroup::Files;
use brunt_meter::proc_stat::{boot_id, start_time};
use brunt_results::lock::Lock;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::{fs, process};

/// Extension of the file beside a journal that says what its controller does.
pub(crate) const STATUS: &str = "status";
/// Extension of the file beside a journal that tells its controller something.
pub(crate) const ORDERS: &str = "orders";

/// The journal of this process.
#[derive(Debug)]
pub struct Journal {
    path: PathBuf,
    file: Lock,
    /// Bytes of complete lines.
    length: u64,
    changes: Vec<Change>,
}

/// What [`recover`] did with a journal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Recovered {
    /// Its owner or its guardian still uses it.
    InUse { pid: u32 },
    /// The machine was started anew since: nothing of it is left.
    EarlierBoot,
    /// Undone, but for the problems; without problems the journal is removed.
    Undone { changes: usize, problems: Vec<String> },
}

/// The folder of journals, in the state directory. It may not exist.
pub fn folder() -> io::Result<PathBuf> {
    Ok(brunt_results::state_dir::path()?.join("colocate"))
}

/// The journals in the folder.
pub fn all(folder: &Path) -> Vec<PathBuf> {
    let files = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut journals: Vec<PathBuf> =
        files.filter(|path| path.extension().is_some_and(|extension| extension == "journal")).collect();
    journals.sort_unstable();
    journals
}

impl Journal {
    /// Creates the journal of this process in the folder of journals.
    pub fn in_folder(folder: &Path) -> io::Result<Self> {
        let owner = Owner::this_process();
        Self::create(&folder.join(format!("{}-{}.journal", owner.pid, owner.started)))
    }

    pub fn create(path: &Path) -> io::Result<Self> {
        let named = |error: io::Error| {
            let remedy = match error.kind() {
                io::ErrorKind::AlreadyExists => ": undo its changes by brunt colocate recover",
                _ => "",
            };
            io::Error::new(error.kind(), format!("journal {}: {error}{remedy}", path.display()))
        };
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        fs::create_dir_all(folder).map_err(named)?;
        let file = OpenOptions::new().append(true).create_new(true).open(path).map_err(named)?;
        file.lock().map_err(named)?;
        let mut journal = Self { path: path.to_owned(), file: Lock::of(file), length: 0, changes: Vec::new() };
        journal.append(&serde_json::to_string(&Owner::this_process())?).map_err(named)?;
        // The name of the file, too, is on disk before any change.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(named)?;
        Ok(journal)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Call this before the change is made.
    pub fn record(&mut self, change: Change) -> io::Result<()> {
        let written = serde_json::to_string(&change).map_err(io::Error::other).and_then(|line| self.append(&line));
        written.map_err(|error| io::Error::new(error.kind(), format!("journal {}: {error}", self.path.display())))?;
        self.changes.push(change);
        Ok(())
    }

    /// Writes a value to a file, recorded with the old one.
    pub fn set(&mut self, files: &dyn Files, file: &Path, value: &str) -> io::Result<()> {
        let old = files.read(file)?;
        self.record(Change::Value { file: file.to_owned(), old, new: value.to_owned() })?;
        files.write(file, value)
    }

    /// Undoes all changes and removes the file. Returns what could not be undone, which keeps the file.
    pub fn undo(self, files: &dyn Files) -> Vec<String> {
        finish(&self.path, files, &self.changes, Vec::new())
    }

    fn append(&mut self, line: &str) -> io::Result<()> {
        let line = format!("{line}\n");
        let written = (&*self.file).write_all(line.as_bytes()).and_then(|()| self.file.sync_data());
        match written {
            Ok(()) => self.length += line.len() as u64,
            // A part of the line must not precede the next one.
            Err(_) => self.file.set_len(self.length)?,
        }
        written
    }
}

/// Undoes the changes of a process that is gone.
pub fn recover(files: &dyn Files, path: &Path) -> io::Result<Recovered> {
    let named = |error: io::Error| io::Error::new(error.kind(), format!("journal {}: {error}", path.display()));
    let file = File::open(path).map_err(named)?;
    let contents = Contents::read(path).map_err(named)?;
    let _lock = match file.try_lock() {
        Ok(()) => Lock::of(file),
        Err(TryLockError::WouldBlock) => return Ok(Recovered::InUse { pid: contents.owner.pid }),
        Err(TryLockError::Error(error)) => return Err(named(error)),
    };
    // Another process may have undone it just before.
    if !path.exists() {
        return Ok(Recovered::Undone { changes: 0, problems: Vec::new() });
    }
    // Lines may have been added before the lock was released.
    let contents = Contents::read(path).map_err(named)?;
    // Its process ended before it had written a line, and so before any change.
    if contents.owner.pid == 0 {
        fs::remove_file(path).map_err(named)?;
        return Ok(Recovered::Undone { changes: 0, problems: Vec::new() });
    }
    if contents.owner.boot != boot_id() {
        fs::remove_file(path).map_err(named)?;
        return Ok(Recovered::EarlierBoot);
    }
    let changes = contents.changes.len();
    let problems = finish(path, files, &contents.changes, contents.unreadable);
    Ok(Recovered::Undone { changes, problems })
}

fn finish(path: &Path, files: &dyn Files, changes: &[Change], mut problems: Vec<String>) -> Vec<String> {
    problems.extend(undo::undo(files, changes));
    // What a killed controller said of itself.
    let _ = fs::remove_file(path.with_extension(STATUS));
    if problems.is_empty()
        && let Err(error) = fs::remove_file(path)
    {
        problems.push(format!("journal {}: {error}", path.display()));
    }
    problems
}

impl Owner {
    /// This process.
    pub fn this_process() -> Self {
        let pid = process::id();
        Self { journal: 1, boot: boot_id(), pid, started: start_time(pid).unwrap_or(0) }
    }
}

#[cfg(test)]
mod tests;
