//! Subjects of messages. Each begins with the version, so that programs of different versions do not hear each other.
//!
//! The id of an agent is at the end, in the parts that `-` separates: the NATS server knows by these what a key may say and hear
//! ([`super::Rights`]). What an agent says is believed only if its subject has the id that the message has.

use super::bus::text;
use crate::words::{VERSION, decode};
use async_nats::Message;
use serde::de::DeserializeOwned;

/// All agents, in place of an id.
pub const ALL: &str = ">";

/// An id as the end of a subject.
pub fn parts(id: &str) -> String {
    // No part of a subject is empty, and = is in no id.
    let part = |part: &str| if part.is_empty() { "=".to_owned() } else { part.to_owned() };
    id.split('-').map(part).collect::<Vec<_>>().join(".")
}

/// Where agents are asked who they are.
pub fn who() -> String {
    format!("{VERSION}.who")
}

/// Where they answer to the asker of this number.
pub fn about(asker: u64, agent: &str) -> String {
    format!("{VERSION}.about.{asker:016x}.{}", parts(agent))
}

/// Where an operator ends loads, whoever coordinates them.
pub fn stop() -> String {
    format!("{VERSION}.stop")
}

/// Where an operator asks for journals.
pub fn collect() -> String {
    format!("{VERSION}.collect")
}

/// Orders to an agent.
pub fn orders(agent: &str) -> String {
    format!("{VERSION}.agent.order.{}", parts(agent))
}

/// Where an agent gets pieces of files.
pub fn pieces(agent: &str) -> String {
    format!("{VERSION}.agent.file.{}", parts(agent))
}

/// Answers of an agent to the orders of a run.
pub fn replies(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.reply.{}", parts(agent))
}

/// What an agent tells in a run without being asked.
pub fn events(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.event.{}", parts(agent))
}

/// Parts of the seconds that an agent has measured in a run.
pub fn seconds(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.second.{}", parts(agent))
}

/// What an agent has of a run, to be followed by its seconds.
pub fn journals(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.journal.{}", parts(agent))
}

/// Where an agent asks for pieces of the files of a run.
pub fn wanted(run: &str, agent: &str) -> String {
    format!("{VERSION}.run.{run}.file.{}", parts(agent))
}

/// What an agent says, if it says it on the subject of the agent that it names.
pub fn said<T: DeserializeOwned>(message: &Message, subject: impl Fn(&T) -> String) -> Option<T> {
    let said = decode::<T>(text(message)).ok()?;
    (*message.subject == subject(&said)).then_some(said)
}

/// What an operator asks a service of an agent.
pub fn sessions(agent: &str) -> String {
    format!("{VERSION}.agent.session.{}", parts(agent))
}

/// What an agent answers in a session.
pub fn answers(session: &str, agent: &str) -> String {
    format!("{VERSION}.run.{session}.answer.{}", parts(agent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_ends_of_subjects_one_to_one() {
        for (id, end) in [("web", "web"), ("web-1", "web.1"), ("a--b-", "a.=.b.="), ("-", "=.="), (ALL, ">")] {
            assert_eq!(parts(id), end);
            assert_eq!(orders(id), format!("{VERSION}.agent.order.{end}"));
        }
    }
}
