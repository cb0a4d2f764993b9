//! Orders of one coordinator that were carried out, and their answers.
//!
//! Orders that lead through the states, and those that are sent at intervals beside them, are told apart: a renewal that
//! overtakes a commit does not make it an old one.

use crate::words::Answer;
use std::collections::VecDeque;

/// Answers kept of each kind: a coordinator has no more orders under way.
const KEPT: usize = 16;

/// Highest numbers and last answers.
#[derive(Debug, Clone, Default)]
pub(super) struct Seen {
    states: Kind,
    beats: Kind,
}

#[derive(Debug, Clone, Default)]
struct Kind {
    highest: Option<u64>,
    answers: VecDeque<(u64, Answer)>,
}

/// What the number of an order says.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Met {
    /// Later than all others.
    New,
    /// A repetition, with its answer.
    Again(Answer),
    /// Older than another one, and not carried out or too long ago.
    Old,
}

impl Seen {
    pub(super) fn meet(&self, seq: u64, is_beat: bool) -> Met {
        let kind = if is_beat { &self.beats } else { &self.states };
        match kind.answers.iter().find(|(known, _)| *known == seq) {
            Some((_, answer)) => Met::Again(answer.clone()),
            None if kind.highest.is_some_and(|highest| seq <= highest) => Met::Old,
            None => Met::New,
        }
    }

    /// Keeps the answer to a new order.
    pub(super) fn keep(&mut self, seq: u64, is_beat: bool, answer: &Answer) {
        let kind = if is_beat { &mut self.beats } else { &mut self.states };
        kind.highest = kind.highest.max(Some(seq));
        kind.answers.push_back((seq, answer.clone()));
        if kind.answers.len() > KEPT {
            kind.answers.pop_front();
        }
    }

    /// Whether the number is above those of all orders that lead through the states.
    pub(super) fn is_above(&self, seq: u64) -> bool {
        self.states.highest.is_none_or(|highest| seq > highest)
    }
}
