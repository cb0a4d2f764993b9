//! Orders of the coordinator.

use super::Version;
use crate::sync::Estimate;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// An order with what identifies it. Times are those of the coordinator's clock.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Envelope {
    /// Version of the messages.
    pub version: Version,
    /// Id of the run.
    pub run: String,
    /// Number of the coordinator among those of its owner: a later one has a higher number.
    pub epoch: u64,
    /// Number of the order. A repetition has the same; orders of one coordinator to one agent have rising numbers.
    pub seq: u64,
    /// When the order was first sent.
    pub sent_ns: i64,
    /// After this time the order is void.
    pub deadline_ns: i64,
    /// What to do.
    pub order: Order,
}

impl Envelope {
    /// Whether it is an order of this coordinator of this run.
    pub fn is_of(&self, run: &str, epoch: u64) -> bool {
        self.run == run && self.epoch == epoch
    }
}

/// What an agent is to do.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Be there for this run, for [`crate::lease::RESERVED_NS`] after each order.
    Reserve {
        /// The owner of the coordinator. A later epoch of the same owner takes the agent over.
        owner: String,
        /// What the load is to be sent to.
        #[serde(default)]
        targets: Vec<String>,
    },
    /// Answer with the times of arrival and answer.
    Sync {},
    /// Prepare this load and open its connections.
    Task(Box<Task>),
    /// Be ready to start at this time.
    Arm(Arm),
    /// Start as armed.
    Commit {
        /// Until when the agent may send.
        lease_until_ns: i64,
    },
    /// Answer with the state; the lease is longer now.
    Renew {
        /// The clock of the agent as it is known now; `None` before the synchronisation.
        clock: Option<Estimate>,
        /// Until when the agent holds its reservation or, after the commit, may send.
        lease_until_ns: i64,
        /// First second of this agent that the coordinator has not got.
        next_second: u64,
    },
    /// End the load at this time; cancel it if it has not begun by then.
    Close {
        /// The end of the window.
        at_ns: i64,
    },
    /// The run is over: abandon what is left of it.
    Release {},
}

impl Order {
    /// Whether a later order of another kind does not make this one void, nor the other way round: it is sent at intervals,
    /// beside the orders that lead through the states.
    pub fn is_beat(&self) -> bool {
        matches!(self, Self::Sync {} | Self::Renew { .. })
    }

    /// The clock of the agent, if the order has it.
    pub fn clock(&self) -> Option<Estimate> {
        match self {
            Self::Task(task) => Some(task.clock),
            Self::Arm(arm) => Some(arm.clock),
            Self::Renew { clock, .. } => *clock,
            _ => None,
        }
    }

    /// Whether it can only end a load: then it is carried out also after its deadline.
    pub fn only_ends(&self) -> bool {
        matches!(self, Self::Close { .. } | Self::Release {})
    }
}

/// The load of one agent.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The clock of the agent as it is known now.
    pub clock: Estimate,
    /// Load threads of the run.
    pub threads: usize,
    /// The agent's threads are `first..end`.
    pub first: usize,
    /// One behind the last thread of the agent.
    pub end: usize,
    /// For how long requests may be unanswered after the end of the window, in nanoseconds.
    pub drain_ns: i64,
    /// Description of the whole load, which this crate does not read.
    pub load: Value,
}

/// Times of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Arm {
    /// The clock of the agent. What the agent makes of the times below is fixed from now on.
    pub clock: Estimate,
    /// First request.
    pub start_ns: i64,
    /// Start of the window that is measured.
    pub open_ns: i64,
    /// End of the window.
    pub close_ns: i64,
}
