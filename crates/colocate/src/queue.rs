//! Jobs to run, in an SQLite file that several processes use at once.
//!
//! A job waits (`ready`, `preempted`, `lost`), is active (`running`, `frozen`) or has ended (`done`, `failed`, `cancelled`).
//! Every start is an attempt, with a row of its own.
//!
//! Invariants: a job has at most one attempt without an end; it is done only if its last attempt exited with 0; an attempt
//! that was killed on purpose, or whose runner is gone, is no failure and the job runs again.

mod attempt;
mod database;
mod error;
mod job;
mod json;
mod owner;
mod pattern;
mod rows;
mod schema;
mod state;

pub use attempt::{Attempt, AttemptId, Progress, Source, Usage};
pub use error::Error;
pub use job::{Job, JobOptions, Spec, check_command};
pub use owner::Owner;
pub use pattern::Pattern;
pub use state::{Outcome, State};

use brunt_results::state_dir;
use rows::Row;
use rusqlite::{Connection, OptionalExtension, Transaction, TransactionBehavior, named_params, params};
use serde::Serialize;
use state::{Counts, after};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use std::{fs, io};

/// How long a command waits for other processes that write to the file.
const COMMAND_WAIT: Duration = Duration::from_secs(10);
/// The same for a runner, which tries again at its next tick.
const RUNNER_WAIT: Duration = Duration::from_millis(5);

/// Length in bytes of the log of the file from which a runner moves it into the file.
pub(crate) const LONG_LOG: u32 = 4 << 20;

#[derive(Debug)]
pub struct Queue {
    path: PathBuf,
    connection: Connection,
}

/// A job and its attempts, oldest first.
#[derive(Debug, Serialize)]
pub struct Listed {
    #[serde(flatten)]
    pub job: Job,
    pub attempts: Vec<Attempt>,
}

/// An attempt that has no end yet.
#[derive(Debug)]
pub struct Active {
    pub id: AttemptId,
    pub owner: Owner,
    pub cancel_asked: bool,
    /// Process id and start time of its first process, once they are known.
    pub process: Option<(u32, u64)>,
}

impl Queue {
    /// `queue.sqlite` in brunt's state directory, which is made if it is missing.
    pub fn default_path() -> Result<PathBuf, Error> {
        let none = |error: io::Error| Error::Failed(format!("there is no place for the queue: {error}"));
        let directory = state_dir::path().map_err(none)?;
        let named =
            |error| Error::Failed(format!("{}: {error}; name another place with --queue FILE", directory.display()));
        fs::create_dir_all(&directory).map_err(named)?;
        Ok(directory.join("queue.sqlite"))
    }

    /// Opens the file, for a command. Creates it if it is missing; its directory must be there.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let connection = database::open(path)?;
        let queue = Self { path: path.to_owned(), connection };
        queue.waiting(COMMAND_WAIT, "FULL")
    }

    /// Opens the file for a runner: no call waits for the disk or for long for another process. After a power failure the
    /// last changes may be lost, as if the runner had been killed a little earlier.
    pub fn open_for_runner(path: &Path) -> Result<Self, Error> {
        let mut queue = Self::open(path)?.waiting(RUNNER_WAIT, "NORMAL")?;
        queue.path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let set = queue.connection.pragma_update(None, "wal_autocheckpoint", 0);
        set.and_then(|()| queue.connection.pragma_update(None, "journal_size_limit", LONG_LOG))
            .map_err(|error| queue.explain(&error))?;
        Ok(queue)
    }

    fn waiting(self, wait: Duration, synchronous: &str) -> Result<Self, Error> {
        let set = self.connection.busy_timeout(wait);
        set.and_then(|()| self.connection.pragma_update(None, "synchronous", synchronous))
            .map_err(|error| self.explain(&error))?;
        Ok(self)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Adds the job `times` times; returns the ids.
    pub fn add(&mut self, spec: &Spec, times: u32) -> Result<Vec<i64>, Error> {
        let row = Row::new(spec)?;
        self.write(|tables| (0..times).map(|_| row.insert(tables, unix_ms())).collect())
    }

    /// All jobs in the order in which they were added. An active one whose runner is gone is shown as lost.
    pub fn list(&self) -> Result<Vec<Listed>, Error> {
        // One snapshot for both tables.
        let snapshot = self.connection.unchecked_transaction();
        snapshot.and_then(|snapshot| listed(&snapshot)).map_err(|error| self.explain(&error))
    }

    /// Cancels all of these jobs, or none if one is unknown or has ended. A job that waits is cancelled at once; an active one
    /// is killed by its runner. Returns the states that they are in now.
    pub fn cancel(&mut self, ids: &[i64]) -> Result<Vec<(i64, State)>, Error> {
        let path = self.path.clone();
        let cancelled = self.write(|tables| {
            let mut all = Vec::new();
            for id in ids {
                let state: Option<State> =
                    tables.query_row("SELECT state FROM job WHERE id = ?1", [id], |row| row.get(0)).optional()?;
                match state {
                    None => return Ok(Err(format!("job {id} is not in {}", path.display()))),
                    Some(state @ (State::Done | State::Failed | State::Cancelled)) => {
                        return Ok(Err(format!("job {id} cannot be cancelled: it is {} already", state.word())));
                    }
                    Some(state) => all.push((*id, if state.is_active() { state } else { State::Cancelled })),
                }
            }
            for (id, state) in &all {
                let change = "UPDATE job SET cancel_asked = 1, state = ?2 WHERE id = ?1";
                tables.execute(change, params![id, state])?;
            }
            Ok(Ok(all))
        })?;
        cancelled.map_err(Error::Usage)
    }

    /// Begins an attempt of the waiting job of the highest priority; among those, of the one that was added first.
    pub fn take(&mut self, owner: &Owner) -> Result<Option<(Job, AttemptId)>, Error> {
        self.write(|tables| {
            let Some(mut job) = rows::next(tables)? else { return Ok(None) };
            let begin = "UPDATE job SET state = 'running', attempts = attempts + 1 WHERE id = ?1 RETURNING attempts";
            let attempt: u32 = tables.query_row(begin, [job.id], |row| row.get(0))?;
            job.state = State::Running;
            let insert = "INSERT INTO attempt (job, number, owner, started_unix_ms) VALUES (?1, ?2, ?3, ?4)";
            tables.execute(insert, params![job.id, attempt, owner, unix_ms()])?;
            let id = AttemptId { job: job.id, attempt };
            Ok(Some((job, id)))
        })
    }

    /// Records the first process of an attempt, by which it is found after its runner was killed.
    pub fn started(&mut self, id: AttemptId, process: (u32, u64), cgroup: Option<&Path>) -> Result<(), Error> {
        let cgroup = cgroup.map(|path| path.to_string_lossy().into_owned());
        let (pid, started) = (process.0, process.1.cast_signed());
        self.write(|tables| {
            let change = "UPDATE attempt SET pid = ?3, pid_started = ?4, cgroup = ?5 WHERE job = ?1 AND number = ?2";
            tables.execute(change, params![id.job, id.attempt, pid, started, cgroup]).map(drop)
        })
    }

    /// Records what attempts have used so far, and whether their processes are frozen.
    pub fn used(&mut self, all: &[(AttemptId, Usage)], frozen: bool) -> Result<(), Error> {
        let state = if frozen { State::Frozen } else { State::Running };
        self.write(|tables| {
            for (id, usage) in all {
                rows::write_usage(tables, *id, usage)?;
                let change =
                    "UPDATE job SET state = ?2 WHERE id = ?1 AND state <> ?2 AND state IN ('running', 'frozen')";
                tables.execute(change, params![id.job, state])?;
            }
            Ok(())
        })
    }

    /// Ends an attempt. `None` if it has an end already.
    pub fn end(&mut self, id: AttemptId, outcome: &Outcome, usage: Option<&Usage>) -> Result<Option<State>, Error> {
        self.write(|tables| {
            let change = "UPDATE attempt SET outcome = ?3, ended_unix_ms = ?4 \
                          WHERE job = ?1 AND number = ?2 AND outcome IS NULL";
            if tables.execute(change, params![id.job, id.attempt, outcome, unix_ms()])? == 0 {
                return Ok(None);
            }
            if let Some(usage) = usage {
                rows::write_usage(tables, id, usage)?;
            }
            let counts = "SELECT retries, cancel_asked, failures, losses FROM job WHERE id = ?1";
            let (retries, cancel_asked, counts) = tables.query_row(counts, [id.job], |row| {
                Ok((row.get(0)?, row.get(1)?, Counts { failures: row.get(2)?, losses: row.get(3)? }))
            })?;
            let (state, counts) = after(outcome, cancel_asked, retries, counts);
            let change = "UPDATE job SET state = :state, failures = :failures, losses = :losses WHERE id = :id";
            let Counts { failures, losses } = counts;
            tables.execute(
                change,
                named_params! { ":state": state, ":failures": failures, ":losses": losses, ":id": id.job },
            )?;
            Ok(Some(state))
        })
    }

    /// The attempts without an end, of all runners.
    pub fn active(&self) -> Result<Vec<Active>, Error> {
        rows::active(&self.connection).map_err(|error| self.explain(&error))
    }

    fn write<T>(&mut self, work: impl FnOnce(&Transaction<'_>) -> rusqlite::Result<T>) -> Result<T, Error> {
        let write = || {
            let transaction = self.connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let value = work(&transaction)?;
            transaction.commit()?;
            Ok(value)
        };
        write().map_err(|error| database::explain(&self.path, &error))
    }

    fn explain(&self, error: &rusqlite::Error) -> Error {
        database::explain(&self.path, error)
    }
}

fn listed(tables: &Connection) -> rusqlite::Result<Vec<Listed>> {
    let mut attempts = rows::attempts(tables)?.into_iter().peekable();
    let list = rows::jobs(tables)?.into_iter().map(|mut job| {
        let mut own = Vec::new();
        while let Some((_, attempt)) = attempts.next_if(|(of, _)| *of == job.id) {
            own.push(attempt);
        }
        let is_gone = own.last().is_some_and(|last| last.owner.is_gone());
        if job.state.is_active() && is_gone {
            job.state = State::Lost;
        }
        Listed { job, attempts: own }
    });
    Ok(list.collect())
}

/// Moves what runners have written from the log of the file into the file itself; takes as long as the disk does. What other
/// processes still read stays in the log.
pub(crate) fn checkpoint(path: &Path) {
    let Ok(connection) = Connection::open(path) else { return };
    // The log grows until a later call succeeds.
    let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
}

fn unix_ms() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}

#[cfg(test)]
mod tests;
