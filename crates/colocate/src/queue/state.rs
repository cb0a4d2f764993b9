//! States of a job, and what the end of an attempt makes of it. Pure.

use super::json::{from_json, to_json};
use rusqlite::types::{FromSql, FromSqlError, FromSqlResult, ToSql, ToSqlOutput, ValueRef};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A job whose runner disappears so many times in a row is not started again: it may be the cause.
pub(super) const MOST_LOSSES: u32 = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// Waits to be started, for the first time or after a failure.
    Ready,
    Running,
    /// Started, but its processes are stopped.
    Frozen,
    /// Killed to free the machine; waits to be started again.
    Preempted,
    /// Its last attempt exited with 0.
    Done,
    /// Failed more often than its retries allow.
    Failed,
    /// Its runner disappeared; waits to be started again.
    Lost,
    Cancelled,
}

impl State {
    pub const ALL: [Self; 8] = [
        Self::Ready,
        Self::Running,
        Self::Frozen,
        Self::Preempted,
        Self::Done,
        Self::Failed,
        Self::Lost,
        Self::Cancelled,
    ];

    pub fn word(self) -> &'static str {
        match self {
            Self::Ready => "ready",
            Self::Running => "running",
            Self::Frozen => "frozen",
            Self::Preempted => "preempted",
            Self::Done => "done",
            Self::Failed => "failed",
            Self::Lost => "lost",
            Self::Cancelled => "cancelled",
        }
    }

    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|state| state.word() == word)
    }

    /// Whether the job has an attempt without an end.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Running | Self::Frozen)
    }

    /// Whether the job is not started any more.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Done | Self::Failed | Self::Cancelled)
    }
}

/// How an attempt ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// With this exit code.
    Exited(i32),
    /// By this signal, which its runner did not send.
    Signalled(i32),
    /// It could not be started, or its end could not be read, for this reason.
    Error(String),
    /// Killed by its runner, which needed the machine or ended.
    Preempted,
    /// Killed by its runner because the job was cancelled.
    Cancelled,
    /// Its runner disappeared.
    Lost,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => write!(f, "exit {code}"),
            Self::Signalled(signal) => write!(f, "signal {signal}"),
            Self::Error(why) => f.write_str(why),
            Self::Preempted => f.write_str("preempted"),
            Self::Cancelled => f.write_str("cancelled"),
            Self::Lost => f.write_str("lost"),
        }
    }
}

/// Ended attempts of a job.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Counts {
    pub failures: u32,
    /// Lost attempts since the last one that was not.
    pub losses: u32,
}

/// State and counts of an active job when its attempt has ended.
pub(super) fn after(outcome: &Outcome, cancel_asked: bool, retries: u32, before: Counts) -> (State, Counts) {
    let counts = match outcome {
        Outcome::Lost => Counts { losses: before.losses.saturating_add(1), ..before },
        Outcome::Exited(0) | Outcome::Preempted | Outcome::Cancelled => Counts { losses: 0, ..before },
        Outcome::Exited(_) | Outcome::Signalled(_) | Outcome::Error(_) => {
            Counts { failures: before.failures.saturating_add(1), losses: 0 }
        }
    };
    let state = match outcome {
        Outcome::Exited(0) => State::Done,
        Outcome::Cancelled => State::Cancelled,
        _ if cancel_asked => State::Cancelled,
        Outcome::Preempted => State::Preempted,
        Outcome::Lost if counts.losses >= MOST_LOSSES => State::Failed,
        Outcome::Lost => State::Lost,
        _ if counts.failures > retries => State::Failed,
        _ => State::Ready,
    };
    (state, counts)
}

impl ToSql for State {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        Ok(self.word().into())
    }
}

impl FromSql for State {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        Self::of(value.as_str()?).ok_or(FromSqlError::InvalidType)
    }
}

impl ToSql for Outcome {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        to_json(self)
    }
}

impl FromSql for Outcome {
    fn column_result(value: ValueRef<'_>) -> FromSqlResult<Self> {
        from_json(value)
    }
}
