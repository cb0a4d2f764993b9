//! One start of a job: its runner, its process, and its use of resources.

use super::owner::Owner;
use super::state::Outcome;
use serde::Serialize;
use std::fmt;

/// An attempt of a job. Attempts count from 1. Written `3-1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    pub job: i64,
    pub attempt: u32,
}

impl fmt::Display for AttemptId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.job, self.attempt)
    }
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Attempt {
    pub number: u32,
    /// The runner.
    #[serde(skip)]
    pub owner: Owner,
    /// Its first process, in the pid namespace of its runner; `None` if none was started.
    pub pid: Option<u32>,
    pub cgroup: Option<String>,
    pub started_unix_ms: i64,
    pub ended_unix_ms: Option<i64>,
    pub outcome: Option<Outcome>,
    #[serde(flatten)]
    pub usage: Usage,
}

/// What an attempt has used and done so far. A lost one has what was recorded last, up to a second before.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Usage {
    pub cpu_seconds: Option<f64>,
    /// Time in which its processes were frozen.
    pub frozen_seconds: Option<f64>,
    pub progress: Option<Progress>,
}

/// Work done since the attempt began.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Progress {
    /// In the job's own unit, or seconds of CPU time.
    pub value: f64,
    /// Its growth in a second, over the last few seconds.
    pub rate: Option<f64>,
    pub source: Source,
}

/// Where a figure of progress comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// The job prints it.
    Output,
    /// The job prints none: its CPU time stands for it.
    CpuTime,
}

impl Source {
    pub fn word(self) -> &'static str {
        match self {
            Self::Output => "output",
            Self::CpuTime => "cpu-time",
        }
    }

    pub(super) fn of(word: &str) -> Option<Self> {
        [Self::Output, Self::CpuTime].into_iter().find(|source| source.word() == word)
    }
}
