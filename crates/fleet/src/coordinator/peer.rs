//! What a coordinator knows of one agent.

use super::config::Member;
use super::outcome::{AgentOutcome, Lost, Started};
use crate::SECOND_NS;
use crate::sync::{Clock, Estimate, Exchange};
use crate::words::{End, Order, State, Status, Times, Why};
use std::collections::{BTreeSet, VecDeque};

/// Questions about the clock whose answers may still come.
const BEATS: usize = 16;
/// A drift is known that is known to this: no clock is so far off.
const KNOWN_PPM: f64 = 100.0;
/// Between two renewals.
const RENEW_NS: i64 = SECOND_NS;

#[derive(Debug, Clone)]
pub(super) struct Peer {
    pub(super) member: Member,
    pub(super) incarnation: Option<u64>,
    pub(super) clock: Clock,
    /// The estimate with which the load was armed.
    pub(super) armed_clock: Option<Estimate>,
    /// The order that is under way, if one is.
    pub(super) pending: Option<Pending>,
    /// Numbers and times of questions about the clock.
    beats: VecDeque<(u64, i64)>,
    /// Of questions about the clock, until now.
    pub(super) longest_round_trip: i64,
    pub(super) renew_at: i64,
    /// When the last answer came.
    pub(super) heard: i64,
    pub(super) is_reserved: bool,
    /// Whether a reservation was sent that may hold.
    pub(super) may_hold: bool,
    pub(super) is_prepared: bool,
    pub(super) is_ready: bool,
    pub(super) is_committed: bool,
    /// Whether it is known that nothing was sent, nor will be.
    pub(super) is_cancelled: bool,
    pub(super) begun: bool,
    pub(super) first_send: Option<i64>,
    /// Why the run ended here before its time.
    pub(super) stopped: Option<Option<Why>>,
    pub(super) end: Option<End>,
    pub(super) seconds: Seconds,
    pub(super) lost: Option<(i64, Lost)>,
}

/// An order that is repeated until it is acknowledged or void.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) seq: u64,
    pub(super) order: Order,
    pub(super) sent: i64,
    pub(super) deadline: i64,
    pub(super) again_at: i64,
    pub(super) every: i64,
}

/// Numbers of the seconds that have arrived.
#[derive(Debug, Clone, Default)]
pub(super) struct Seconds {
    /// All below this one have.
    next: u64,
    /// Those above it that have.
    above: BTreeSet<u64>,
}

impl Seconds {
    /// Returns whether the second is new.
    fn insert(&mut self, second: u64) -> bool {
        let is_new = second >= self.next && self.above.insert(second);
        while self.above.remove(&self.next) {
            self.next += 1;
        }
        is_new
    }

    /// The first second that is missing.
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    pub(super) fn count(&self) -> u64 {
        self.next + self.above.len() as u64
    }

    pub(super) fn missing(&self, end: u64) -> impl Iterator<Item = u64> {
        (self.next..end).filter(|second| !self.above.contains(second))
    }
}

impl Peer {
    pub(super) fn new(member: Member, now: i64) -> Self {
        Self {
            member,
            incarnation: None,
            clock: Clock::default(),
            armed_clock: None,
            pending: None,
            beats: VecDeque::new(),
            longest_round_trip: 0,
            renew_at: now,
            heard: now,
            is_reserved: false,
            may_hold: false,
            is_prepared: false,
            is_ready: false,
            is_committed: false,
            is_cancelled: false,
            begun: false,
            first_send: None,
            stopped: None,
            end: None,
            seconds: Seconds::default(),
            lost: None,
        }
    }

    pub(super) fn id(&self) -> String {
        self.member.id.clone()
    }

    pub(super) fn is_lost(&self) -> bool {
        self.lost.is_some()
    }

    /// Remembers a question about the clock.
    pub(super) fn ask(&mut self, seq: u64, sent: i64) {
        self.renew_at = sent.saturating_add(RENEW_NS);
        self.beats.push_back((seq, sent));
        if self.beats.len() > BEATS {
            self.beats.pop_front();
        }
    }

    /// Whether this is the number of a question that is unanswered.
    pub(super) fn has_asked(&self, seq: u64) -> bool {
        self.beats.iter().any(|(asked, _)| *asked == seq)
    }

    /// When the last question was asked, if it is unanswered.
    pub(super) fn asked(&self) -> Option<i64> {
        self.beats.back().map(|(_, sent)| *sent)
    }

    /// Takes the answer to a question about the clock.
    pub(super) fn exchange(&mut self, seq: u64, times: Option<&Times>, returned: i64) {
        let Some(place) = self.beats.iter().position(|(asked, _)| *asked == seq) else { return };
        let Some((_, sent)) = self.beats.remove(place) else { return };
        self.longest_round_trip = self.longest_round_trip.max(returned.saturating_sub(sent));
        if let Some(Times { received_ns, answered_ns }) = times {
            self.clock.add(&Exchange { sent, received: *received_ns, answered: *answered_ns, returned });
        }
    }

    /// Forgets a reservation that is given back: answers to what was asked before come too late.
    pub(super) fn give_back(&mut self) {
        (self.is_reserved, self.stopped) = (false, None);
        self.beats.clear();
    }

    /// Takes a state. Answers may be repeated and late: what was true once is not taken back.
    pub(super) fn learn(&mut self, status: &Status) {
        self.is_prepared |= matches!(status.state, State::Prepared | State::Connected | State::Armed);
        self.is_ready |= matches!(status.state, State::Connected | State::Armed);
        self.begun |= status.begun;
        self.first_send = self.first_send.or(status.first_send_ns);
        if status.state == State::Stopped && self.stopped.is_none() {
            self.stopped = Some(status.why.clone());
        }
        status.end.iter().for_each(|end| self.finish(end));
    }

    pub(super) fn finish(&mut self, end: &End) {
        self.first_send = self.first_send.or(end.first_send_ns);
        self.end.get_or_insert_with(|| end.clone());
    }

    /// Counts a second; returns whether it is new.
    pub(super) fn count(&mut self, second: u64) -> bool {
        self.seconds.insert(second)
    }

    /// First request, on the coordinator's clock.
    pub(super) fn first_send(&self) -> Option<i64> {
        Some(self.armed_clock.or(self.clock.estimate())?.coordinator(self.first_send?))
    }

    /// What is told of it. `expected`: seconds that it was to have.
    pub(super) fn outcome(&self, expected: u64, now: i64) -> AgentOutcome {
        let bound = |clock: Estimate| clock.bound_at_coordinator(now);
        let started = match (self.first_send.is_some(), self.is_committed && !self.is_cancelled) {
            (true, _) => Started::Yes,
            (false, true) => Started::Perhaps,
            (false, false) => Started::No,
        };
        AgentOutcome {
            id: self.id(),
            incarnation: self.incarnation,
            offset_ns: self.armed_clock.map(|clock| clock.offset_ns),
            bound_ns: self.armed_clock.map(|clock| clock.bound_ns).or(self.clock.estimate().map(bound)),
            drift_ppm: self.clock.drift().filter(|drift| drift.bound_ppm <= KNOWN_PPM).map(|drift| drift.ppm),
            started,
            first_send_ns: self.first_send(),
            seconds: self.seconds.count(),
            expected,
            lost: self.lost.clone(),
        }
    }
}
