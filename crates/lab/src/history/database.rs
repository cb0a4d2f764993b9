//! The SQLite file of the index: opening, replacing and locking.
//!
//! Everything in it can be read again from the directories, so an unusable file is deleted and rebuilt. The journal is a
//! rollback journal: writes are one short transaction per run, and write-ahead logs need shared memory that network file
//! systems lack. Processes wait for each other for up to [`LOCK_TIMEOUT`].

use super::schema;
use crate::clock;
use crate::fs_error::with_path;
use brunt_results::Error;
use brunt_results::lock::Lock;
use rusqlite::ffi::{SQLITE_CANTOPEN, SQLITE_CORRUPT};
use rusqlite::{Connection, ErrorCode};
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

const LOCK_TIMEOUT: Duration = Duration::from_secs(10);

/// Opens the index of a folder. Creates it if it is missing, replaces it if it is unusable.
pub(super) fn open(folder: &Path) -> Result<Connection, Error> {
    create_folder(folder)?;
    inherit(folder)?;
    let opened = match connect(&path(folder)) {
        Err(error) if is_unusable(&error) => {
            let _lock = lock(folder)?;
            // Another process may have replaced it meanwhile.
            connect(&path(folder)).or_else(|_| recreate(folder))
        }
        opened => opened,
    };
    opened.map_err(|error| explain(folder, &error))
}

/// Begins a missing index with a copy of the version before: it has runs whose directories are gone.
fn inherit(folder: &Path) -> Result<(), Error> {
    let (path, older) = (path(folder), folder.join(format!("index-{}.sqlite", schema::INHERITED)));
    if path.exists() || !older.is_file() {
        return Ok(());
    }
    let _lock = lock(folder)?;
    let beside = folder.join("index.new");
    // Another process may have copied it meanwhile. Without the copy the directories are read again.
    if !path.exists() && fs::copy(&older, &beside).and_then(|_| fs::rename(&beside, &path)).is_err() {
        let _ = fs::remove_file(&beside);
    }
    Ok(())
}

pub(super) fn replace(folder: &Path) -> Result<Connection, Error> {
    let _lock = lock(folder)?;
    recreate(folder).map_err(|error| explain(folder, &error))
}

fn recreate(folder: &Path) -> rusqlite::Result<Connection> {
    let path = path(folder);
    // A journal left behind would be rolled back into the new file.
    for file in [&path, &path.with_extension("sqlite-journal")] {
        match fs::remove_file(file) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failure(SQLITE_CANTOPEN, format!("cannot delete it: {error}")));
            }
            _ => {}
        }
    }
    connect(&path)
}

fn path(folder: &Path) -> PathBuf {
    folder.join(format!("index-{}.sqlite", schema::VERSION))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(LOCK_TIMEOUT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Takes milliseconds for thousands of trials; without it corruption shows only when a damaged page is read.
    let state: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if state != "ok" {
        return Err(failure(SQLITE_CORRUPT, state));
    }
    schema::create(&mut connection)?;
    Ok(connection)
}

fn failure(code: i32, message: String) -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), Some(message))
}

/// Whether deleting the file may help: every error except those of the environment (locks, permissions, disk).
pub(super) fn is_unusable(error: &rusqlite::Error) -> bool {
    use ErrorCode as Code;
    let of_environment =
        [Code::CannotOpen, Code::DatabaseBusy, Code::DatabaseLocked, Code::DiskFull, Code::OutOfMemory];
    let of_files = [Code::FileLockingProtocolFailed, Code::PermissionDenied, Code::ReadOnly, Code::SystemIoFailure];
    !error.sqlite_error_code().is_some_and(|code| of_environment.contains(&code) || of_files.contains(&code))
}

pub(super) fn explain(folder: &Path, error: &rusqlite::Error) -> Error {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another brunt is writing to it: try again".into(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull | ErrorCode::SystemIoFailure) => {
            format!("set {} to another directory", brunt_results::state_dir::ENV_VAR)
        }
        _ => "it may be deleted: it is rebuilt from the directories".to_owned(),
    };
    Error::Failed(format!("{}: {error}; {remedy}", path(folder).display()))
}

fn create_folder(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| {
        Error::Failed(format!(
            "{}: {error}; set {} to another directory",
            folder.display(),
            brunt_results::state_dir::ENV_VAR
        ))
    })
}

/// Locks the folder against other processes until the returned value is dropped.
pub(super) fn lock(folder: &Path) -> Result<Lock, Error> {
    create_folder(folder)?;
    let path = folder.join("lock");
    let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(with_path(&path))?;
    let begun = clock::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock::of(file)),
            // Some network file systems have no locks. A lost line of the list of directories is the worst consequence.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(Lock::of(file)),
            Err(TryLockError::Error(error)) => return Err(with_path(&path)(error).into()),
            Err(TryLockError::WouldBlock) if clock::since(begun) > LOCK_TIMEOUT => {
                let message = format!("{}: another process has held the lock for {LOCK_TIMEOUT:?}", path.display());
                return Err(Error::Failed(message));
            }
            Err(TryLockError::WouldBlock) => clock::sleep(Duration::from_millis(10)),
        }
    }
}
