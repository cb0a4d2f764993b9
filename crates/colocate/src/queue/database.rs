//! Opening the file: a write-ahead log, so that readers and a writer do not wait for each other.

use super::error::Error;
use super::schema::{self, Contents};
use crate::clock;
use rusqlite::{Connection, ErrorCode};
use std::path::Path;
use std::time::Duration;

/// How long opening waits for other processes that open or create the file.
const OPEN_WAIT: Duration = Duration::from_secs(10);

/// Opens or creates the file; refuses one that is not a queue of this version.
pub(super) fn open(path: &Path) -> Result<Connection, Error> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty() && !folder.is_dir()) {
        let folder = folder.display();
        return Err(Error::Usage(format!(
            "{folder}: there is no such directory; make it, or name another file with --queue"
        )));
    }
    let since = clock::now();
    loop {
        match connect(path).map_err(|error| explain(path, &error)) {
            // The change to a write-ahead log does not wait for other processes by itself.
            Err(Error::Busy(_)) if clock::since(since) < OPEN_WAIT => clock::sleep(Duration::from_millis(10)),
            Ok((_, Contents::Other)) => {
                let message = format!("{} is not a queue: name another file with --queue", path.display());
                return Err(Error::Usage(message));
            }
            Ok((_, Contents::Version(version))) => {
                return Err(Error::Usage(format!(
                    "{} is a queue of version {version}, and this brunt reads version {}: name another file with --queue",
                    path.display(),
                    schema::VERSION
                )));
            }
            Ok((connection, Contents::Queue)) => return Ok(connection),
            Err(error) => return Err(error),
        }
    }
}

fn connect(path: &Path) -> rusqlite::Result<(Connection, Contents)> {
    let mut connection = Connection::open(path)?;
    connection.busy_timeout(OPEN_WAIT)?;
    connection.pragma_update(None, "foreign_keys", true)?;
    let contents = schema::create(&mut connection)?;
    if contents == Contents::Queue {
        let mode: String = connection.pragma_query_value(None, "journal_mode", |row| row.get(0))?;
        if mode != "wal" {
            connection.pragma_update(None, "journal_mode", "wal")?;
        }
    }
    Ok((connection, contents))
}

pub(super) fn explain(path: &Path, error: &rusqlite::Error) -> Error {
    let shown = path.display();
    match error.sqlite_error_code() {
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            Error::Busy(format!("{shown}: another process is writing to it: try again"))
        }
        Some(ErrorCode::NotADatabase) => {
            Error::Usage(format!("{shown} is not a queue: name another file with --queue"))
        }
        Some(ErrorCode::DatabaseCorrupt) => {
            Error::Failed(format!("{shown} is damaged ({error}): delete it, or name another file with --queue"))
        }
        Some(
            ErrorCode::CannotOpen | ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::SystemIoFailure,
        ) => Error::Failed(format!("{shown}: {error}; name another file with --queue")),
        _ => Error::Failed(format!("{shown}: {error}")),
    }
}
