//! Tables of the index and their writers. A directory is always replaced as a whole, in one transaction.
//!
//! The table of trials has a column for each figure that the [table of figures](brunt_results::figure) puts into the index. A file
//! that lacks one gets it when it is opened, and its directories are read again.

use super::entry::{Cell, Entry, Trial};
use super::figures::indexed;
use super::filter::FAILED;
use crate::run_directory::TrialOutcome;
use rusqlite::types::Value;
use rusqlite::{Connection, Transaction, TransactionBehavior, named_params, params, params_from_iter};
use std::collections::BTreeSet;

/// Version of the tables. Each version has its own file.
pub(super) const VERSION: i32 = 3;
/// The version before, whose tables differ in nothing but in columns of figures: a new file begins as a copy of it.
pub(super) const INHERITED: i32 = 2;
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
    tester TEXT
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
    match state(connection)? {
        (APPLICATION, VERSION | INHERITED, _) => add_figures(connection),
        _ => Err(rusqlite::Error::InvalidQuery),
    }
}

/// Adds the columns of figures that the file lacks. The directories that are there are read again then; of others the new figures
/// are absent.
fn add_figures(connection: &mut Connection) -> rusqlite::Result<()> {
    let columns = |of: &Connection| -> rusqlite::Result<BTreeSet<String>> {
        let mut names = of.prepare("SELECT name FROM pragma_table_info('trial')")?;
        names.query_map([], |row| row.get(0))?.collect()
    };
    let is_missing = |known: &BTreeSet<String>| indexed().any(|(column, _)| !known.contains(column));
    if !is_missing(&columns(connection)?) {
        return Ok(());
    }
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Another process may have added them meanwhile.
    let known = columns(&transaction)?;
    for (column, figure) in indexed().filter(|(column, _)| !known.contains(*column)) {
        let kind = if figure.unit.is_whole() { "INTEGER" } else { "REAL" };
        transaction.execute(&format!("ALTER TABLE trial ADD COLUMN {column} {kind}"), [])?;
    }
    transaction.execute("UPDATE directory SET stamp = 0", [])?;
    transaction.pragma_update(None, "user_version", VERSION)?;
    transaction.commit()
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
    let names: String = indexed().map(|(column, _)| format!(", {column}")).collect();
    let places = ", ?".repeat(indexed().count());
    let figures = indexed().map(|(_, figure)| {
        let of = figure.indexed.as_ref().and_then(|indexed| indexed.of).unwrap_or(figure.of);
        result.and_then(of).map(|value| if figure.unit.is_whole() { signed(value as u64).into() } else { value.into() })
    });
    let values: [Value; 7] = [
        cell.into(),
        trial.repeat.into(),
        trial.place.clone().into(),
        trial.started_unix_s.map(signed).into(),
        verdict.to_owned().into(),
        why.into(),
        result.map(|result| result.tester.clone()).into(),
    ];
    let values = values.into_iter().chain(figures.map(|value: Option<Value>| value.into()));
    transaction
        .prepare_cached(&format!(
            "INSERT INTO trial (cell, repeat, place, started_unix_s, verdict, why, tester{names}) VALUES (?, ?, ?, ?, ?, ?, ?{places})"
        ))?
        .execute(params_from_iter(values))?;
    Ok(())
}

/// SQLite integers are signed.
pub(super) fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
