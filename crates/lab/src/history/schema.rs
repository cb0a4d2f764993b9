//! Tables of the index and their writers. A directory is always replaced as a whole, in one transaction.

use super::entry::{Cell, Entry, Trial};
use super::filter::FAILED;
use crate::run_directory::TrialOutcome;
use rusqlite::{Connection, Transaction, TransactionBehavior, named_params, params};

/// Version of the tables. Each version has its own file.
pub(super) const VERSION: i32 = 2;
/// SQLite application id: `brnt`.
const APPLICATION: i32 = 0x6272_6e74;

const TABLES: &str = "
CREATE TABLE directory (
    id INTEGER PRIMARY KEY,
    path TEXT NOT NULL UNIQUE,
    kind TEXT NOT NULL,
    plan TEXT NOT NULL,
    description TEXT NOT NULL,
    plan_hash TEXT NOT NULL,
    command TEXT NOT NULL,
    started_unix_s INTEGER NOT NULL,
    finished INTEGER NOT NULL,
    stamp INTEGER NOT NULL,
    missing INTEGER NOT NULL,
    cpu TEXT, cpus INTEGER, kernel TEXT, brunt TEXT NOT NULL, binary_hash TEXT
);
CREATE TABLE cell (
    id INTEGER PRIMARY KEY,
    directory INTEGER NOT NULL REFERENCES directory ON DELETE CASCADE,
    target TEXT NOT NULL,
    combination TEXT NOT NULL
);
CREATE INDEX cells ON cell (directory);
CREATE TABLE value (
    cell INTEGER NOT NULL REFERENCES cell ON DELETE CASCADE,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (cell, name)
) WITHOUT ROWID;
CREATE TABLE trial (
    id INTEGER PRIMARY KEY,
    cell INTEGER NOT NULL REFERENCES cell ON DELETE CASCADE,
    repeat INTEGER NOT NULL,
    place TEXT NOT NULL,
    started_unix_s INTEGER,
    verdict TEXT NOT NULL,
    why TEXT NOT NULL,
    tester TEXT,
    rate REAL, offered_rate REAL, completed INTEGER, failed INTEGER, errors_percent REAL,
    mean_us REAL, p50_us REAL, p90_us REAL, p95_us REAL, p99_us REAL, p999_us REAL, max_us REAL,
    cost_us REAL, cpu_percent REAL, rss_bytes INTEGER
);
CREATE INDEX trials ON trial (cell);
";

/// Creates the tables in an empty file. Fails with a schema error if the file is something else than an index.
pub(super) fn create(connection: &mut Connection) -> rusqlite::Result<()> {
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
    let (application, version, _) = state(connection)?;
    if (application, version) == (APPLICATION, VERSION) { Ok(()) } else { Err(rusqlite::Error::InvalidQuery) }
}

/// Finished directories with their stamps.
pub(super) fn finished(connection: &Connection) -> rusqlite::Result<Vec<(String, i64)>> {
    let mut ask = connection.prepare("SELECT path, stamp FROM directory WHERE finished")?;
    ask.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
}

/// Writes these directories; those of the same path are replaced, and with `only` all others removed.
pub(super) fn put(connection: &mut Connection, entries: &[(String, Entry)], only: bool) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    if only {
        transaction.execute("DELETE FROM directory", [])?;
    }
    for (path, entry) in entries {
        put_entry(&transaction, path, entry)?;
    }
    transaction.commit()
}

fn put_entry(transaction: &Transaction, path: &str, entry: &Entry) -> rusqlite::Result<()> {
    transaction.prepare_cached("DELETE FROM directory WHERE path = ?1")?.execute([path])?;
    transaction
        .prepare_cached(
            "INSERT INTO directory VALUES (NULL, :path, :kind, :plan, :description, :plan_hash, :command, \
             :started, :finished, :stamp, :missing, :cpu, :cpus, :kernel, :brunt, :binary_hash)",
        )?
        .execute(named_params! {
            ":path": path,
            ":kind": entry.kind.word(),
            ":plan": entry.plan,
            ":description": entry.description,
            ":plan_hash": entry.plan_hash,
            ":command": entry.command,
            ":started": signed(entry.started_unix_s),
            ":finished": entry.finished,
            ":stamp": entry.stamp,
            ":missing": signed(entry.missing as u64),
            ":cpu": entry.env.cpu,
            ":cpus": entry.env.cpus_online.map(signed),
            ":kernel": entry.env.kernel,
            ":brunt": entry.env.brunt,
            ":binary_hash": entry.env.binary_hash,
        })?;
    let directory = transaction.last_insert_rowid();
    entry.cells.iter().try_for_each(|cell| put_cell(transaction, directory, cell))
}

fn put_cell(transaction: &Transaction, directory: i64, cell: &Cell) -> rusqlite::Result<()> {
    transaction.prepare_cached("INSERT INTO cell VALUES (NULL, ?1, ?2, ?3)")?.execute(params![
        directory,
        cell.target,
        cell.combination
    ])?;
    let id = transaction.last_insert_rowid();
    let mut value = transaction.prepare_cached("INSERT OR REPLACE INTO value VALUES (?1, ?2, ?3)")?;
    for (name, text) in &cell.values {
        value.execute(params![id, name, text])?;
    }
    cell.trials.iter().try_for_each(|trial| put_trial(transaction, id, trial))
}

fn put_trial(transaction: &Transaction, cell: i64, trial: &Trial) -> rusqlite::Result<()> {
    let (verdict, why, result) = match &trial.kept {
        TrialOutcome::Done(result) => {
            (result.verdict.kind.word(), result.verdict.why.join("; "), Some(result.as_ref()))
        }
        TrialOutcome::Failed(failure) => (FAILED, failure.line(), None),
    };
    let response = result.map(|result| &result.latency.response);
    let errors_percent = result.and_then(|result| {
        let (completed, failed) = (result.requests.completed as f64, result.requests.failed as f64);
        Some(100.0 * failed / (completed + failed)).filter(|share| share.is_finite())
    });
    transaction
        .prepare_cached(
            "INSERT INTO trial VALUES (NULL, :cell, :repeat, :place, :started, :verdict, :why, :tester, :rate, \
             :offered_rate, :completed, :failed, :errors_percent, :mean, :p50, :p90, :p95, :p99, :p999, :max, :cost, \
             :cpu_percent, :rss_bytes)",
        )?
        .execute(named_params! {
            ":cell": cell,
            ":repeat": trial.repeat,
            ":place": trial.place,
            ":started": trial.started_unix_s.map(signed),
            ":verdict": verdict,
            ":why": why,
            ":tester": result.map(|result| &result.tester),
            ":rate": result.map(|result| result.requests.rate),
            ":offered_rate": result.and_then(|result| result.requests.offered_rate),
            ":completed": result.map(|result| signed(result.requests.completed)),
            ":failed": result.map(|result| signed(result.requests.failed)),
            ":errors_percent": errors_percent,
            ":mean": response.and_then(|of| of.mean_us),
            ":p50": response.and_then(|of| of.p50_us),
            ":p90": response.and_then(|of| of.p90_us),
            ":p95": response.and_then(|of| of.p95_us),
            ":p99": response.and_then(|of| of.p99_us),
            ":p999": response.and_then(|of| of.p999_us),
            ":max": response.and_then(|of| of.max_us),
            ":cost": result.and_then(|result| result.server.cpu_us_per_request),
            ":cpu_percent": result.and_then(|result| result.server.cpu_percent()),
            ":rss_bytes": result.and_then(|result| result.server.rss_bytes).map(signed),
        })?;
    Ok(())
}

/// SQLite integers are signed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
