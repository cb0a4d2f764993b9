//! Answers of an agent.

use super::{End, Version, Why};
use serde::{Deserialize, Serialize};
use std::fmt;

/// The answer to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    /// Version of the messages.
    pub version: Version,
    /// Run of the order.
    pub run: String,
    /// Epoch of the order.
    pub epoch: u64,
    /// Number of the order.
    pub seq: u64,
    /// Id of the agent.
    pub agent: String,
    /// A number that the agent has from one start of its program to the next.
    pub incarnation: u64,
    /// The answer.
    pub answer: Answer,
}

/// What an agent says to an order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer {
    /// To a reservation: the agent is reserved.
    Granted {},
    /// To a reservation: another run has the agent.
    Busy {
        /// Owner of that run.
        owner: String,
        /// Id of that run.
        run: String,
        /// After so long the agent is free, unless that run renews, in nanoseconds.
        left_ns: i64,
    },
    /// To a question about the clock.
    Synced(Times),
    /// The order is carried out, or was.
    Accepted(Box<Status>),
    /// To a renewal.
    Renewed {
        /// Times of this order.
        times: Times,
        /// State of the agent.
        status: Box<Status>,
    },
    /// The order is not carried out.
    Refused(Refusal),
}

/// When an order came and was answered, on the agent's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Times {
    /// Arrival of the order.
    pub received_ns: i64,
    /// Departure of the answer.
    pub answered_ns: i64,
}

/// Why an order is not carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Refusal {
    /// A later order was there before it, or a later coordinator.
    Old {},
    /// Its deadline may have passed.
    Late {},
    /// The agent has no such run.
    Unknown {},
    /// It does not follow from the state of the agent.
    State(State),
}

impl Refusal {
    /// In words, for a line to a user.
    pub fn words(&self) -> String {
        match self {
            Self::Old {} => "a later order or a later coordinator was there before".to_owned(),
            Self::Late {} => "it came too late".to_owned(),
            Self::Unknown {} => "it has no such run".to_owned(),
            Self::State(state) => format!("it is {state}"),
        }
    }
}

/// Where an agent is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// No run.
    Idle,
    /// Held for a run, whose load may be in preparation.
    Reserved,
    /// The load is prepared and opens its connections.
    Prepared,
    /// The connections are open.
    Connected,
    /// The times are known; sends nothing before the start, and nothing without a commit.
    Armed,
    /// Sends requests.
    Running,
    /// Sends nothing more and waits for answers.
    Draining,
    /// All is measured; the results are there to be sent again.
    Reporting,
    /// The run ended here before its time; sends nothing more.
    Stopped,
}

/// In words, for a line to a user.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Idle => "idle",
            Self::Reserved => "reserved",
            Self::Prepared => "prepared",
            Self::Connected => "connected",
            Self::Armed => "armed",
            Self::Running => "running",
            Self::Draining => "draining",
            Self::Reporting => "reporting",
            Self::Stopped => "stopped",
        })
    }
}

/// What is to be known of an agent in a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// Where it is.
    pub state: State,
    /// Whether requests may have been sent.
    pub begun: bool,
    /// Seconds that are finished, from 0 on.
    pub seconds: u64,
    /// When the first request was sent, on the agent's clock.
    pub first_send_ns: Option<i64>,
    /// Why the run ended, or ends, before its time.
    pub why: Option<Why>,
    /// Orders refused since the agent started.
    pub refused: u64,
    /// What was measured in all, once the load is over.
    pub end: Option<End>,
}

impl Status {
    /// That of an agent without a run.
    pub fn idle(refused: u64) -> Self {
        Self { state: State::Idle, begun: false, seconds: 0, first_send_ns: None, why: None, refused, end: None }
    }
}
