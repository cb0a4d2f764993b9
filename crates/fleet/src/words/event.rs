//! What an agent tells without being asked. A renewal asks for the same, so that a lost event delays and changes nothing.

use super::Version;
use serde::{Deserialize, Serialize};

/// An event with where it comes from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    /// Version of the messages.
    pub version: Version,
    /// Id of the run.
    pub run: String,
    /// Epoch of the coordinator of the agent.
    pub epoch: u64,
    /// Id of the agent.
    pub agent: String,
    /// Incarnation of the agent.
    pub incarnation: u64,
    /// What happened.
    pub event: Event,
}

/// What happened at an agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// The load is prepared and opens its connections.
    Connecting {
        /// Connections that are open.
        opened: u64,
    },
    /// All connections are open.
    Ready {},
    /// The load cannot go on.
    Failed {
        /// The error, one line.
        error: String,
    },
    /// All is measured.
    End(End),
}

/// What an agent has measured in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Seconds in its journal, from 0 on; the last may be shorter.
    pub seconds: u64,
    /// When the first request was sent, on the agent's clock; `None` if none was.
    pub first_send_ns: Option<i64>,
    /// Why it ended before its time.
    pub why: Option<Why>,
    /// Digest of the journal, as text.
    pub digest: String,
}

/// Why a run ended on an agent before its time.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Why {
    /// The coordinator said so.
    Closed {},
    /// The reservation was not renewed.
    Expired {},
    /// No commit came before the start.
    NotCommitted {},
    /// The lease was not renewed.
    LeaseOver {},
    /// The coordinator released the agent while its load was there.
    Released {},
    /// A later coordinator of the same owner has the agent.
    TakenOver {},
    /// Requests were unanswered for too long after the end of the window.
    NotDrained {},
    /// The load failed.
    Failed {
        /// The error, one line.
        error: String,
    },
}

impl Why {
    /// In words, for a line to a user.
    pub fn words(&self) -> &str {
        match self {
            Self::Closed {} => "the coordinator closed it",
            Self::Expired {} => "its reservation was not renewed in time",
            Self::NotCommitted {} => "no commit came before the start",
            Self::LeaseOver {} => "its lease was not renewed in time",
            Self::Released {} => "it was released",
            Self::TakenOver {} => "a later coordinator of the same owner has it",
            Self::NotDrained {} => "requests were unanswered for too long after the end",
            Self::Failed { error } => error,
        }
    }
}
