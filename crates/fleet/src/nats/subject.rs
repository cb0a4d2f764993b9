//! Subjects of messages. Each begins with the version, so that programs of different versions do not hear each other.
//!
//! An agent listens on [`orders`], [`pieces`], [`who`], [`stop`] and [`collect`], and publishes below `run.*` and `about`.

use crate::words::VERSION;

/// Where agents are asked who they are.
pub fn who() -> String {
    format!("{VERSION}.who")
}

/// Where they answer to the asker of this number.
pub fn about(asker: u64) -> String {
    format!("{VERSION}.about.{asker:016x}")
}

/// Where an operator ends loads, whoever coordinates them.
pub fn stop() -> String {
    format!("{VERSION}.stop")
}

/// Where an operator asks for journals.
pub fn collect() -> String {
    format!("{VERSION}.collect")
}

/// What an agent has of a run, to be followed by its seconds.
pub fn journals(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.journal.{agent}")
}

/// Orders to an agent.
pub fn orders(agent: &str) -> String {
    format!("{VERSION}.agent.{agent}.order")
}

/// Answers of an agent to the orders of a run.
pub fn replies(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.reply.{agent}")
}

/// What an agent tells in a run without being asked.
pub fn events(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.event.{agent}")
}

/// Parts of the seconds that an agent has measured in a run.
pub fn seconds(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.second.{agent}")
}

/// Where an agent asks for pieces of the files of a run.
pub fn wanted(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.file.{agent}")
}

/// Where it gets them.
pub fn pieces(agent: &str) -> String {
    format!("{VERSION}.agent.{agent}.file")
}

/// All agents.
pub const ALL: &str = "*";
