//! Rows of the tables as values, and back.

use super::attempt::{Attempt, AttemptId, Progress, Source, Usage};
use super::error::Error;
use super::json::from_json;
use super::{Active, Job, Pattern, Spec};
use rusqlite::types::Type;
use rusqlite::{Connection, OptionalExtension, Transaction, named_params};

/// A job to be added.
pub(super) struct Row {
    argv: String,
    env: String,
    dir: String,
    priority: i32,
    retries: u32,
    progress_pattern: Option<String>,
    options: String,
}

impl Row {
    pub(super) fn new(spec: &Spec) -> Result<Self, Error> {
        if spec.argv.first().is_none_or(String::is_empty) {
            return Err(Error::Usage("a job needs a program to run".to_owned()));
        }
        let dir = spec.dir.to_str().filter(|_| spec.dir.is_absolute());
        let dir = dir.ok_or_else(|| {
            Error::Usage(format!("the working directory {} must be an absolute path in UTF-8", spec.dir.display()))
        })?;
        let json = |error: serde_json::Error| Error::Failed(error.to_string());
        Ok(Self {
            argv: serde_json::to_string(&spec.argv).map_err(json)?,
            env: serde_json::to_string(&spec.env).map_err(json)?,
            dir: dir.to_owned(),
            priority: spec.priority,
            retries: spec.retries,
            progress_pattern: spec.progress_pattern.as_ref().map(|pattern| pattern.as_str().to_owned()),
            options: serde_json::to_string(&spec.options).map_err(json)?,
        })
    }

    pub(super) fn insert(&self, tables: &Transaction<'_>, added_unix_ms: i64) -> rusqlite::Result<i64> {
        tables
            .prepare_cached(
                "INSERT INTO job (argv, env, dir, priority, retries, progress_pattern, options, added_unix_ms) \
                 VALUES (:argv, :env, :dir, :priority, :retries, :progress_pattern, :options, :added_unix_ms)",
            )?
            .execute(named_params! {
                ":argv": self.argv,
                ":env": self.env,
                ":dir": self.dir,
                ":priority": self.priority,
                ":retries": self.retries,
                ":progress_pattern": self.progress_pattern,
                ":options": self.options,
                ":added_unix_ms": added_unix_ms,
            })?;
        Ok(tables.last_insert_rowid())
    }
}

const JOB: &str = "SELECT id, argv, env, dir, priority, retries, progress_pattern, state, cancel_asked, failures, \
                   added_unix_ms, options FROM job";

fn job(row: &rusqlite::Row<'_>) -> rusqlite::Result<Job> {
    let pattern: Option<String> = row.get(6)?;
    let invalid = |error: String| rusqlite::Error::FromSqlConversionFailure(6, Type::Text, error.into());
    Ok(Job {
        id: row.get(0)?,
        spec: Spec {
            argv: from_json(row.get_ref(1)?)?,
            env: from_json(row.get_ref(2)?)?,
            dir: row.get::<_, String>(3)?.into(),
            priority: row.get(4)?,
            retries: row.get(5)?,
            progress_pattern: pattern.map(|text| text.parse::<Pattern>()).transpose().map_err(invalid)?,
            options: from_json(row.get_ref(11)?)?,
        },
        state: row.get(7)?,
        cancel_asked: row.get(8)?,
        failures: row.get(9)?,
        added_unix_ms: row.get(10)?,
    })
}

/// All jobs by id.
pub(super) fn jobs(tables: &Connection) -> rusqlite::Result<Vec<Job>> {
    let mut ask = tables.prepare(&format!("{JOB} ORDER BY id"))?;
    ask.query_map([], job)?.collect()
}

/// The waiting job to start next.
pub(super) fn next(tables: &Connection) -> rusqlite::Result<Option<Job>> {
    // The condition is that of the index.
    let ask = format!("{JOB} WHERE state IN ('ready', 'preempted', 'lost') ORDER BY priority DESC, id LIMIT 1");
    tables.prepare_cached(&ask)?.query_row([], job).optional()
}

/// All attempts by job and number, with the id of their job.
pub(super) fn attempts(tables: &Connection) -> rusqlite::Result<Vec<(i64, Attempt)>> {
    let mut ask = tables.prepare(
        "SELECT job, number, owner, pid, cgroup, started_unix_ms, ended_unix_ms, outcome, cpu_seconds, frozen_seconds, \
         progress, progress_rate, progress_source FROM attempt ORDER BY job, number",
    )?;
    let rows = ask.query_map([], |row| {
        let source: Option<String> = row.get(12)?;
        let progress = row.get::<_, Option<f64>>(10)?.zip(source.as_deref().and_then(Source::of));
        let rate = row.get(11)?;
        let attempt = Attempt {
            number: row.get(1)?,
            owner: row.get(2)?,
            pid: row.get(3)?,
            cgroup: row.get(4)?,
            started_unix_ms: row.get(5)?,
            ended_unix_ms: row.get(6)?,
            outcome: row.get(7)?,
            usage: Usage {
                cpu_seconds: row.get(8)?,
                frozen_seconds: row.get(9)?,
                progress: progress.map(|(value, source)| Progress { value, rate, source }),
            },
        };
        Ok((row.get(0)?, attempt))
    })?;
    rows.collect()
}

/// Attempts without an end.
pub(super) fn active(tables: &Connection) -> rusqlite::Result<Vec<Active>> {
    let mut ask = tables.prepare_cached(
        "SELECT job, number, owner, cancel_asked, pid, pid_started FROM attempt JOIN job ON job.id = attempt.job \
         WHERE outcome IS NULL ORDER BY job",
    )?;
    let rows = ask.query_map([], |row| {
        let started: Option<i64> = row.get(5)?;
        Ok(Active {
            id: AttemptId { job: row.get(0)?, attempt: row.get(1)? },
            owner: row.get(2)?,
            cancel_asked: row.get(3)?,
            process: row.get::<_, Option<u32>>(4)?.zip(started.map(i64::cast_unsigned)),
        })
    })?;
    rows.collect()
}

pub(super) fn write_usage(tables: &Transaction<'_>, id: AttemptId, usage: &Usage) -> rusqlite::Result<()> {
    tables
        .prepare_cached(
            "UPDATE attempt SET cpu_seconds = :cpu, frozen_seconds = :frozen, progress = :progress, \
             progress_rate = :rate, progress_source = :source WHERE job = :job AND number = :number",
        )?
        .execute(named_params! {
            ":cpu": usage.cpu_seconds,
            ":frozen": usage.frozen_seconds,
            ":progress": usage.progress.map(|progress| progress.value),
            ":rate": usage.progress.and_then(|progress| progress.rate),
            ":source": usage.progress.map(|progress| progress.source.word()),
            ":job": id.job,
            ":number": id.attempt,
        })
        .map(drop)
}
