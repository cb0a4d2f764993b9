//! Tables of the queue.

use rusqlite::{Connection, TransactionBehavior};

/// Version of the tables.
pub(super) const VERSION: i32 = 2;
/// SQLite application id: `brnq`.
const APPLICATION: i32 = 0x6272_6e71;

/// What version 1 had not.
const SINCE_ONE: &str = "ALTER TABLE job ADD COLUMN options TEXT NOT NULL DEFAULT '{}';";

/// `argv`, `env`, `options` and `outcome` are JSON. Ids are never used twice: output files and variables of processes carry them.
const TABLES: &str = "
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    argv TEXT NOT NULL,
    env TEXT NOT NULL,
    dir TEXT NOT NULL,
    priority INTEGER NOT NULL,
    retries INTEGER NOT NULL,
    progress_pattern TEXT,
    options TEXT NOT NULL DEFAULT '{}',
    added_unix_ms INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'ready',
    cancel_asked INTEGER NOT NULL DEFAULT 0,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX waiting ON job (priority DESC, id) WHERE state IN ('ready', 'preempted', 'lost');
CREATE TABLE attempt (
    job INTEGER NOT NULL REFERENCES job,
    number INTEGER NOT NULL,
    owner TEXT NOT NULL,
    pid INTEGER, pid_started INTEGER, cgroup TEXT,
    started_unix_ms INTEGER NOT NULL,
    ended_unix_ms INTEGER, outcome TEXT,
    cpu_seconds REAL, frozen_seconds REAL,
    progress REAL, progress_rate REAL, progress_source TEXT,
    PRIMARY KEY (job, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX active ON attempt (job) WHERE outcome IS NULL;
";

/// What a file holds.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Contents {
    Queue,
    /// A queue of another version.
    Version(i32),
    /// Tables of another program.
    Other,
}

/// Creates the tables in an empty file.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<Contents> {
    let state = |of: &Connection| -> rusqlite::Result<(i32, i32, i64)> {
        let pragma = |name| of.pragma_query_value(None, name, |row| row.get(0));
        let tables = of.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0))?;
        Ok((pragma("application_id")?, pragma("user_version")?, tables))
    };
    if state(connection)?.2 == 0 {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        // Another process may have created them meanwhile.
        if state(&transaction)?.2 == 0 {
            transaction.execute_batch(TABLES)?;
            transaction.pragma_update(None, "application_id", APPLICATION)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    if matches!(state(connection)?, (APPLICATION, 1, _)) {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        if matches!(state(&transaction)?, (APPLICATION, 1, _)) {
            transaction.execute_batch(SINCE_ONE)?;
            transaction.pragma_update(None, "user_version", VERSION)?;
        }
        transaction.commit()?;
    }
    Ok(match state(connection)? {
        (APPLICATION, VERSION, _) => Contents::Queue,
        (APPLICATION, version, _) => Contents::Version(version),
        _ => Contents::Other,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_of_version_one_is_taken_over() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(&TABLES.replace("    options TEXT NOT NULL DEFAULT '{}',\n", "")).unwrap();
        connection.pragma_update(None, "application_id", APPLICATION).unwrap();
        connection.pragma_update(None, "user_version", 1).unwrap();
        let insert =
            "INSERT INTO job (argv, env, dir, priority, retries, added_unix_ms) VALUES ('[]', '{}', '/', 0, 0, 0)";
        connection.execute(insert, []).unwrap();
        for _ in 0..2 {
            assert_eq!(create(&mut connection).unwrap(), Contents::Queue);
            let options: String = connection.query_row("SELECT options FROM job", [], |row| row.get(0)).unwrap();
            assert_eq!(options, "{}");
        }
        connection.pragma_update(None, "user_version", VERSION + 1).unwrap();
        assert_eq!(create(&mut connection).unwrap(), Contents::Version(VERSION + 1));
    }
}
