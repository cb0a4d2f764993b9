//! What an operator asks a service of an agent in a session, and what is answered.

use super::Version;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// A message to an agent. It names the agent and its incarnation, so that no other one obeys it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ask {
    /// Version of the messages.
    pub version: Version,
    /// Id of the agent.
    pub agent: String,
    /// Incarnation of the agent.
    pub incarnation: u64,
    /// Id of the session, another one at each opening.
    pub session: String,
    /// Number of the message. A repetition has the same; signs of life are numbered apart from the others, both from 1 on.
    pub seq: u64,
    /// What is asked.
    pub question: Question,
}

/// What is asked of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// Begin; the first message.
    Open {
        /// Which service.
        service: String,
        /// What it is to do, which this crate does not read.
        settings: Value,
        /// Time of day when it was sent, in seconds since 1970: an old one is void.
        at_unix_s: u64,
    },
    /// A question to the service, which this crate does not read.
    Ask {
        /// The question.
        question: Value,
    },
    /// The operator is still there.
    Alive {},
    /// End; the last message.
    Close {},
}

/// A message of an agent about a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Said {
    /// Version of the messages.
    pub version: Version,
    /// Id of the agent.
    pub agent: String,
    /// Incarnation of the agent.
    pub incarnation: u64,
    /// Id of the session.
    pub session: String,
    /// Number of the message that is answered.
    pub seq: u64,
    /// The answer.
    pub answer: SessionAnswer,
}

/// An answer of a session.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SessionAnswer {
    /// It is done.
    Done {
        /// What the service answers; nothing for what is no question to it.
        value: Value,
    },
    /// It could not be done.
    Failed {
        /// Why; one line.
        error: String,
    },
    /// The agent has no such session any more.
    Unknown {},
}
