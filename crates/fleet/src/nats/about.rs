//! What an agent says of itself when it is asked.

use crate::words::{State, Times, Version};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// An agent that is there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct About {
    /// Version of the messages.
    pub version: Version,
    /// Its id.
    pub id: String,
    /// Another number at each start of the agent.
    pub incarnation: u64,
    /// Name of its machine.
    pub host: String,
    /// Version of its program.
    pub brunt: String,
    /// Hash of its program, where that could be read.
    pub program: Option<String>,
    /// Its operating system.
    pub kernel: String,
    /// Cores that it may run on.
    pub cores: u64,
    /// What its owner says of it.
    pub labels: BTreeMap<String, String>,
    /// What it may load, in words.
    pub allows: String,
    /// Where it is.
    pub state: State,
    /// The run that has it.
    pub busy: Option<Busy>,
    /// What is wrong with its machine, a line each.
    pub warnings: Vec<String>,
    /// When it was asked and when it answers, on its clock.
    pub times: Times,
}

/// A run that has an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Busy {
    /// Its owner.
    pub owner: String,
    /// Its id.
    pub run: String,
    /// What its load is sent to; nothing once that has ended on the agent.
    #[serde(default)]
    pub targets: Vec<String>,
    /// Whether the load is described: it will be made.
    #[serde(default)]
    pub is_described: bool,
    /// Until the end of the load, in nanoseconds, if that is decided.
    #[serde(default)]
    pub left_ns: Option<i64>,
}

/// A question for all agents.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Who {
    pub version: Version,
    /// Number of the asker.
    pub asker: u64,
}

/// Whether a text can be the id of an agent or a run: it is a part of subjects and of paths.
pub fn is_id(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    (1..=64).contains(&text.len()) && text.chars().all(is_allowed)
}

#[cfg(test)]
mod tests {
    use super::is_id;

    #[test]
    fn ids_are_parts_of_subjects_and_paths() {
        assert!(["a", "web-1", "X_9", &"a".repeat(64)].iter().all(|id| is_id(id)));
        assert!(["", "a.b", "*", ">", "a b", "../a", "ä", &"a".repeat(65)].iter().all(|id| !is_id(id)));
    }
}
