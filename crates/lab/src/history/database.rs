//! The SQLite file: where it is, whether it is whole, and who may replace it.
//!
//! Its journal is the plain one, not a write-ahead log: writes are one short transaction a run, and a home directory may be
//! on a network, where the log's shared memory does not work. Two processes wait for each other for [`PATIENCE`].

use super::schema;
use crate::Error;
use rusqlite::{Connection, ErrorCode};
use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

/// How long one process waits for another.
const PATIENCE: Duration = Duration::from_secs(10);

/// Opens the cache of a folder, or begins a new one; a damaged one is set aside.
pub(super) fn open(folder: &Path) -> Result<Connection, Error> {
    make(folder)?;
    match connect(&path(folder)) {
        Err(error) if is_damage(&error) => renew(folder, true),
        opened => opened.map_err(|error| failed(folder, &error)),
    }
}

/// Sets the cache aside and begins a new one; unless it has become whole while we waited, if that will do.
pub(super) fn renew(folder: &Path, whole_will_do: bool) -> Result<Connection, Error> {
    let (_lock, path) = (hold(folder)?, path(folder));
    if whole_will_do && let Ok(whole) = connect(&path) {
        return Ok(whole);
    }
    // A journal without its file would be played back into the next one.
    let journal = path.with_extension("sqlite-journal");
    for aside in [fs::rename(&path, path.with_extension("damaged")), fs::remove_file(journal)] {
        match aside {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(Error::Failed(format!("{} cannot be replaced: {error}", path.display())));
            }
            _ => {}
        }
    }
    connect(&path).map_err(|error| failed(folder, &error))
}

fn path(folder: &Path) -> PathBuf {
    folder.join(format!("index-{}.sqlite", schema::VERSION))
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(PATIENCE)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    // Damage shows only where a page is read; a cache of thousands of trials is checked in milliseconds.
    let state: String = connection.query_row("PRAGMA quick_check(1)", [], |row| row.get(0))?;
    if state != "ok" {
        return Err(damage());
    }
    schema::prepare(&mut connection)?;
    Ok(connection)
}

/// What SQLite itself would say of a file that is no index.
pub(super) fn damage() -> rusqlite::Error {
    rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(rusqlite::ffi::SQLITE_CORRUPT), None)
}

/// Whether the file is to blame; also where a page is whole and what stands in it is not what was put there, and where the
/// tables are not ours, for what is asked of them is always the same.
pub(super) fn is_damage(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{
        FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnName, InvalidColumnType, SqlInputError,
        Utf8Error,
    };
    // The general error, which has no name of its own, is SQLite's word for a table that is not there.
    let is_file = matches!(
        error.sqlite_error_code(),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase | ErrorCode::Unknown)
    );
    let is_content = matches!(
        error,
        FromSqlConversionFailure(..)
            | IntegralValueOutOfRange(..)
            | InvalidColumnName(..)
            | InvalidColumnType(..)
            | SqlInputError { .. }
            | Utf8Error(..)
    );
    is_file || is_content
}

/// The error as the user reads it.
pub(super) fn failed(folder: &Path, error: &rusqlite::Error) -> Error {
    let remedy = match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => "another brunt is writing to it: try again".into(),
        Some(ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::DiskFull) => {
            format!("{} names another place", brunt_results::state_dir::ENV_VAR)
        }
        _ => "it may be deleted: it is made anew from the directories".to_owned(),
    };
    Error::Failed(format!("{}: {error}; {remedy}", path(folder).display()))
}

fn make(folder: &Path) -> Result<(), Error> {
    fs::create_dir_all(folder).map_err(|error| {
        Error::Failed(format!(
            "{}: {error}; {} names another place",
            folder.display(),
            brunt_results::state_dir::ENV_VAR
        ))
    })
}

/// Holds the folder against other processes until the file is dropped.
pub(super) fn hold(folder: &Path) -> Result<File, Error> {
    make(folder)?;
    let place = folder.join("lock");
    let named = |error: &io::Error| Error::Failed(format!("{}: {error}", place.display()));
    let file = File::options().create(true).truncate(false).write(true).open(&place).map_err(|e| named(&e))?;
    let since = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            // Some network file systems have no locks; two at the same moment are rare, and the worst is a lost line.
            Err(TryLockError::Error(error)) if error.kind() == io::ErrorKind::Unsupported => return Ok(file),
            Err(TryLockError::Error(error)) => return Err(named(&error)),
            Err(TryLockError::WouldBlock) if since.elapsed() > PATIENCE => {
                let message = format!("{}: another process has held it for {PATIENCE:?}", place.display());
                return Err(Error::Failed(message));
            }
            Err(TryLockError::WouldBlock) => thread::sleep(Duration::from_millis(10)),
        }
    }
}
