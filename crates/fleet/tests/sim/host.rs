//! The machine of an agent: the agent, its load threads, and its directory, which outlives both.

use crate::clock::Clock;
use crate::world::HostEvent;
use brunt_fleet::agent::{Agent, Effect, Happening};
use brunt_fleet::words::Table;
use brunt_fleet::{MILLISECOND_NS, SECOND_NS};
use std::collections::{BTreeMap, BTreeSet};

/// Run, epoch, incarnation and second.
pub type Key = (String, u64, u64, u64);

pub struct Host {
    pub id: String,
    pub clock: Clock,
    /// `None` while the program is not there.
    pub agent: Option<Agent>,
    pub incarnation: u64,
    pub is_stopped: bool,
    /// What waits until it goes on.
    pub waiting: Vec<HostEvent>,
    pub load: Option<Load>,
    pub journal: BTreeMap<Key, Table>,
    /// What ended the load of a run, epoch and incarnation.
    pub ends: BTreeMap<(String, u64, u64), By>,
    pub steps: u64,
    /// Coordinator and number of the orders that this incarnation has answered.
    pub answered: BTreeSet<(usize, u64)>,
    /// Numbers of the wake-ups that count: those of before are void.
    pub due: u64,
    pub load_due: u64,
}

/// What ends a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum By {
    Close,
    Count,
    Lease,
}

/// The time that a load goes on at least after its threads have stood still, if its requests are not done.
const LEFT_NS: i64 = MILLISECOND_NS;

/// Load threads. They read the clock themselves, and test `close` and `lease` each time.
#[derive(Debug)]
pub struct Load {
    pub number: u64,
    pub run: String,
    pub epoch: u64,
    pub drain_ns: i64,
    begun: Option<(i64, i64)>,
    lease: Option<i64>,
    /// When all of its requests are done, if it ends by a count.
    done: Option<i64>,
    produced: u64,
    first: Option<i64>,
    /// Sends before this time of the clock have been accounted for.
    accounted: i64,
    has_ended: bool,
    /// True time at which the last of what it told arrives: all of it comes in order.
    pub told_at: i64,
    /// Whether the end was told.
    pub is_drained: bool,
    is_abandoned: bool,
}

impl Host {
    pub fn new(id: String, clock: Clock, incarnation: u64) -> Self {
        Self {
            agent: Some(Agent::new(id.clone(), incarnation)),
            id,
            clock,
            incarnation,
            is_stopped: false,
            waiting: Vec::new(),
            load: None,
            journal: BTreeMap::new(),
            ends: BTreeMap::new(),
            steps: 0,
            answered: BTreeSet::new(),
            due: 0,
            load_due: 0,
        }
    }

    pub fn is_up(&self) -> bool {
        self.agent.is_some() && !self.is_stopped
    }
}

impl Load {
    pub fn new(number: u64, run: String, epoch: u64, drain_ns: i64, now: i64) -> Self {
        Self {
            number,
            run,
            epoch,
            drain_ns,
            begun: None,
            lease: None,
            done: None,
            produced: 0,
            first: None,
            accounted: now,
            has_ended: false,
            told_at: 0,
            is_drained: false,
            is_abandoned: false,
        }
    }

    /// What the agent sets. Sends until now must be accounted for before.
    pub fn set(&mut self, effect: &Effect) {
        match effect {
            Effect::Begin { start, open, close } => {
                assert!(self.begun.is_none() && self.lease.is_some() && start <= open && open <= close, "{self:?}");
                self.begun = Some((*start, *close));
            }
            Effect::Lease { until } => {
                assert!(self.lease.is_none_or(|lease| lease <= *until), "a lease became shorter: {self:?}");
                self.lease = Some(*until);
            }
            Effect::CloseAt { close } => self.begun = self.begun.map(|(start, old)| (start, old.min(*close))),
            Effect::Abandon => (self.has_ended, self.is_abandoned) = (true, true),
            _ => (),
        }
    }

    /// Its requests are done so long after the start.
    pub fn ends_after(&mut self, ns: i64) {
        self.done = self.begun.map(|(start, _)| start + ns);
    }

    fn end(&self) -> Option<i64> {
        Some(self.begun?.1.min(self.lease?).min(self.done.unwrap_or(i64::MAX)))
    }

    /// What ends it, or did.
    pub fn ended_by(&self) -> Option<By> {
        let end = self.end()?;
        let is_at = |time: Option<i64>| time == Some(end);
        Some(match (is_at(self.begun.map(|(_, close)| close)), is_at(self.done)) {
            (true, _) => By::Close,
            (_, true) => By::Count,
            _ => By::Lease,
        })
    }

    /// The time in which requests were sent since the last call, as [from, to) of the clock; the threads ran all the while.
    pub fn account(&mut self, now: i64) -> Option<(i64, i64)> {
        let from = std::mem::replace(&mut self.accounted, now);
        let ((start, _), end) = (self.begun?, self.end()?);
        let (from, to) = (from.max(start), now.min(end));
        let sent = (!self.has_ended && from < to).then_some((from, to));
        self.first = self.first.or(sent.map(|(from, _)| from));
        self.has_ended |= now >= end;
        sent
    }

    /// The threads have not run since the last call.
    pub fn pass_over(&mut self, now: i64) {
        self.accounted = now;
        if !self.has_ended {
            // Without threads no request is done.
            self.done = self.done.map(|done| done.max(now + LEFT_NS));
        }
        self.has_ended |= self.end().is_some_and(|end| now >= end);
    }

    /// When something is to be told next.
    pub fn due(&self) -> Option<i64> {
        let ((start, _), end) = (self.begun?, self.end()?);
        let boundary = start + (self.produced as i64 + 1) * SECOND_NS;
        (!self.is_drained && !self.is_abandoned).then(|| boundary.min(end))
    }

    /// What the threads tell now: seconds, and `true` if all have ended.
    pub fn tell(&mut self, now: i64) -> (Vec<Happening>, bool) {
        let (Some((start, _)), Some(end)) = (self.begun, self.end()) else { return (Vec::new(), false) };
        let mut told = Vec::new();
        if self.produced == 0 {
            told.extend(self.first.map(|at| Happening::FirstSend { at }));
        }
        let length = end.saturating_sub(start).max(0);
        let ended = self.has_ended && !self.is_abandoned;
        let whole = (now.min(end).saturating_sub(start).max(0) / SECOND_NS) as u64;
        let there = if ended { (length as u64).div_ceil(SECOND_NS as u64) } else { whole };
        while self.produced < there {
            told.push(Happening::Second { second: self.produced });
            self.produced += 1;
        }
        let drains = ended && !self.is_drained;
        self.is_drained |= drains;
        (told, drains)
    }
}
