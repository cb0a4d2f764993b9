//! The sessions of an agent: what operators have services on its machine do, beside the runs.
//!
//! It takes a message, an answer of a service or the time, and returns what is to be done. Times are nanoseconds of the agent's
//! CLOCK_MONOTONIC, and seconds of its time of day where they are named so.
//!
//! Invariants:
//! - A question is handed to its service once: a repetition gets the same answer, and an older one nothing.
//! - A session is opened once: a message that opens it again, or that is old, opens none.
//! - A session that hears nothing for [`SILENCE_NS`] ends.

use crate::SECOND_NS;
use crate::words::{Ask, Question, Said, SessionAnswer, Version};
use serde_json::Value;
use std::collections::BTreeMap;

/// A session ends that has heard nothing for so long. Operators tell each second that they are there.
pub const SILENCE_NS: i64 = 10 * SECOND_NS;
/// The clocks of day of both machines may differ by this much.
const OLDEST_S: u64 = 60;
/// Sessions at a time.
const MOST: usize = 64;

/// The sessions of an agent.
#[derive(Debug, Clone)]
pub struct Sessions {
    agent: String,
    incarnation: u64,
    open: BTreeMap<String, Open>,
    /// Every session that was opened, with the time of day in its message, while that is not too old to be obeyed.
    opened: BTreeMap<String, u64>,
}

#[derive(Debug, Clone)]
struct Open {
    /// The last message that is no sign of life.
    seq: u64,
    /// Its answer, once there is one.
    answer: Option<SessionAnswer>,
    /// The last sign of life.
    alive: u64,
    heard: i64,
}

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub enum Act {
    /// Begin a session; [`Sessions::answered`] takes how that went.
    Open {
        /// Id of the session.
        session: String,
        /// Which service.
        service: String,
        /// What it is to do.
        settings: Value,
    },
    /// Hand a question to the service of a session; [`Sessions::answered`] takes the answer.
    Ask {
        /// Id of the session.
        session: String,
        /// Number of the question.
        seq: u64,
        /// The question.
        question: Value,
    },
    /// End the service of a session.
    End {
        /// Id of the session.
        session: String,
        /// Why, in words.
        why: &'static str,
    },
    /// Send an answer.
    Say(Box<Said>),
}

impl Sessions {
    /// Those of an agent: none.
    pub fn new(agent: String, incarnation: u64) -> Self {
        Self { agent, incarnation, open: BTreeMap::new(), opened: BTreeMap::new() }
    }

    /// Takes a message that an operator has signed.
    pub fn take(&mut self, ask: &Ask, now: i64, unix_s: u64) -> Vec<Act> {
        if ask.agent != self.agent || ask.incarnation != self.incarnation {
            return Vec::new();
        }
        let Ask { session, seq, question, .. } = ask;
        if let Question::Open { service, settings, at_unix_s } = question
            && !self.open.contains_key(session)
        {
            return self.begin(session, *seq, (service, settings), (*at_unix_s, now, unix_s));
        }
        let Some(open) = self.open.get_mut(session) else {
            return vec![self.say(session, *seq, SessionAnswer::Unknown {})];
        };
        if let Question::Alive {} = question {
            // Signs of life have numbers of their own: an answer would be taken for that of the question of this number.
            if *seq > open.alive {
                (open.alive, open.heard) = (*seq, now);
            }
            return Vec::new();
        }
        if *seq == open.seq {
            let answer = open.answer.clone();
            return answer.into_iter().map(|answer| self.say(session, *seq, answer)).collect();
        }
        if *seq < open.seq {
            return Vec::new();
        }
        (open.seq, open.answer, open.heard) = (*seq, None, now);
        match question {
            Question::Ask { question } => {
                vec![Act::Ask { session: session.clone(), seq: *seq, question: question.clone() }]
            }
            Question::Close {} => {
                self.open.remove(session);
                let end = Act::End { session: session.clone(), why: "it was closed" };
                vec![end, self.say(session, *seq, SessionAnswer::Done { value: Value::Null })]
            }
            Question::Open { .. } | Question::Alive {} => Vec::new(),
        }
    }

    fn begin(
        &mut self,
        session: &str,
        seq: u64,
        (service, settings): (&str, &Value),
        (at, now, unix_s): (u64, i64, u64),
    ) -> Vec<Act> {
        self.opened.retain(|_, at| at.saturating_add(OLDEST_S) >= unix_s);
        let why = if self.opened.contains_key(session) {
            return vec![self.say(session, seq, SessionAnswer::Unknown {})];
        } else if at.abs_diff(unix_s) > OLDEST_S {
            format!(
                "the clocks of day of the two machines differ by {} s, and {OLDEST_S} s are allowed: set them",
                at.abs_diff(unix_s)
            )
        } else if self.open.len() >= MOST {
            format!("{MOST} sessions are open there: end some")
        } else {
            self.opened.insert(session.to_owned(), at);
            self.open.insert(session.to_owned(), Open { seq, answer: None, alive: 0, heard: now });
            let (service, settings) = (service.to_owned(), settings.clone());
            return vec![Act::Open { session: session.to_owned(), service, settings }];
        };
        vec![self.say(session, seq, SessionAnswer::Failed { error: why })]
    }

    /// Takes what the service of a session answers to its newest question, or to its opening. One that could not begin is over.
    pub fn answered(&mut self, session: &str, seq: u64, answer: SessionAnswer, has_begun: bool) -> Vec<Act> {
        let Some(open) = self.open.get_mut(session).filter(|open| open.seq == seq) else { return Vec::new() };
        open.answer = Some(answer.clone());
        if !has_begun {
            self.open.remove(session);
        }
        vec![self.say(session, seq, answer)]
    }

    /// Number of the message that opened a session, or of the newest question in it.
    pub fn newest(&self, session: &str) -> Option<u64> {
        self.open.get(session).map(|open| open.seq)
    }

    /// Ends the sessions of which nothing was heard.
    pub fn tick(&mut self, now: i64) -> Vec<Act> {
        let is_silent = |open: &Open| now >= open.heard.saturating_add(SILENCE_NS);
        let silent: Vec<String> =
            self.open.iter().filter(|(_, open)| is_silent(open)).map(|(session, _)| session.clone()).collect();
        self.open.retain(|session, _| !silent.contains(session));
        silent.into_iter().map(|session| Act::End { session, why: "its operator is silent" }).collect()
    }

    /// Ends all sessions, as an operator asks.
    pub fn stop(&mut self) -> Vec<Act> {
        let open = std::mem::take(&mut self.open);
        open.into_keys().map(|session| Act::End { session, why: "it was stopped by an operator" }).collect()
    }

    /// When the next tick is due.
    pub fn due(&self) -> Option<i64> {
        self.open.values().map(|open| open.heard.saturating_add(SILENCE_NS)).min()
    }

    fn say(&self, session: &str, seq: u64, answer: SessionAnswer) -> Act {
        Act::Say(Box::new(Said {
            version: Version,
            agent: self.agent.clone(),
            incarnation: self.incarnation,
            session: session.to_owned(),
            seq,
            answer,
        }))
    }
}

#[cfg(test)]
mod tests;
