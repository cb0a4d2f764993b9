//! What an agent knows of the one run that it has.

use super::{Held, seen::Seen};
use crate::lease::{REPORTING_NS, RESERVED_NS, RUNNING_NS};
use crate::sync::Estimate;
use crate::words::{Arm, End, Envelope, State, Status, Task, Why};
use crate::{MILLISECOND_NS, SECOND_NS};

/// Between two tries to tell the end.
pub(super) const TELL_NS: i64 = SECOND_NS;
/// For how long a run that ended before its time is remembered with the reason, from the last order.
pub(super) const STOPPED_NS: i64 = RESERVED_NS;
/// Beyond the time that requests may be unanswered, until a load that does not end is abandoned.
const DRAIN_GRACE_NS: i64 = 5 * SECOND_NS;
/// A load that is cancelled less than this before its start may have sent something: its threads read the clock on their own.
const CANCEL_NS: i64 = 10 * MILLISECOND_NS;

/// One run on this agent. Times are those of the agent's clock.
#[derive(Debug, Clone)]
pub(super) struct Session {
    pub(super) owner: String,
    pub(super) targets: Vec<String>,
    pub(super) run: String,
    pub(super) epoch: u64,
    pub(super) state: State,
    pub(super) why: Option<Why>,
    pub(super) seen: Seen,
    /// When the last order was carried out.
    pub(super) heard: i64,
    /// Until when the reservation holds, before a commit.
    pub(super) hold: i64,
    /// Least time of arrival minus time of sending, over all orders: no lower than the offset of the clocks.
    pub(super) lag: i64,
    pub(super) clock: Option<Estimate>,
    /// A load that waits until the one before is gone.
    pub(super) waiting: Option<Box<Task>>,
    pub(super) drain_ns: i64,
    /// Number of the load, once it is prepared or being prepared.
    pub(super) load: Option<u64>,
    /// Whether all threads of the load have ended.
    pub(super) is_gone: bool,
    pub(super) armed: Option<Armed>,
    pub(super) committed: Option<Committed>,
    pub(super) begun: bool,
    pub(super) seconds: u64,
    pub(super) first_send: Option<i64>,
    /// When something was last sent again.
    pub(super) sent_again: Option<i64>,
    pub(super) end: Option<End>,
    /// When the end was last told.
    pub(super) told: i64,
}

/// Times of the load.
#[derive(Debug, Clone, Copy)]
pub(super) struct Armed {
    /// With which all times of the run are converted.
    pub(super) clock: Estimate,
    pub(super) start: i64,
    pub(super) open: i64,
    pub(super) close: i64,
}

/// What a commit has given.
#[derive(Debug, Clone, Copy)]
pub(super) struct Committed {
    /// Number of the commit: what was granted before it is no lease.
    pub(super) seq: u64,
    /// The end of the lease.
    pub(super) lease: i64,
}

impl Armed {
    pub(super) fn new(arm: &Arm) -> Self {
        let Arm { clock, start_ns, open_ns, close_ns } = *arm;
        let [start, open, close] = [start_ns, open_ns, close_ns].map(|time| clock.agent(time));
        Self { clock, start, open, close }
    }
}

impl Session {
    pub(super) fn new(envelope: &Envelope, owner: &str, targets: &[String], seen: Seen, arrived: i64) -> Self {
        Self {
            owner: owner.to_owned(),
            targets: targets.to_vec(),
            run: envelope.run.clone(),
            epoch: envelope.epoch,
            state: State::Reserved,
            why: None,
            seen,
            heard: arrived,
            hold: arrived.saturating_add(RESERVED_NS),
            lag: arrived.saturating_sub(envelope.sent_ns),
            clock: None,
            waiting: None,
            drain_ns: 0,
            load: None,
            is_gone: false,
            armed: None,
            committed: None,
            begun: false,
            seconds: 0,
            first_send: None,
            sent_again: None,
            end: None,
            told: arrived,
        }
    }

    pub(super) fn is_of(&self, envelope: &Envelope) -> bool {
        envelope.is_of(&self.run, self.epoch)
    }

    /// Whether the deadline of an order may have passed. Without an estimate, whether it has for certain: no order arrives before
    /// it is sent.
    pub(super) fn is_late(&self, envelope: &Envelope, arrived: i64) -> bool {
        let latest = match envelope.order.clock().or(self.clock) {
            Some(clock) => clock.at_coordinator(arrived).latest,
            None => arrived.saturating_sub(self.lag),
        };
        latest > envelope.deadline_ns
    }

    /// The load that has not ended.
    pub(super) fn living(&self) -> Option<u64> {
        self.load.filter(|_| !self.is_gone)
    }

    /// Marks that requests may have been sent, if a committed start is near or over.
    pub(super) fn note_begun(&mut self, now: i64) {
        let start = self.armed.filter(|_| self.committed.is_some()).map(|armed| armed.start);
        self.begun |= start.is_some_and(|start| now >= start.saturating_sub(CANCEL_NS));
    }

    /// When the load has been draining for too long.
    pub(super) fn drain_limit(&self) -> i64 {
        let close = self.armed.map_or(self.heard, |armed| armed.close);
        close.saturating_add(self.drain_ns).saturating_add(DRAIN_GRACE_NS)
    }

    /// When something changes without an order and without a happening.
    pub(super) fn due(&self) -> Option<i64> {
        match (self.state, self.armed, self.committed) {
            (State::Idle, ..) => None,
            (State::Armed, Some(armed), _) => Some(armed.start),
            (State::Running, Some(armed), Some(committed)) => Some(armed.close.min(committed.lease)),
            (State::Draining, ..) => Some(self.drain_limit()),
            (State::Reporting, ..) => Some(self.reported().min(self.told.saturating_add(TELL_NS))),
            // With a load that is being abandoned, only its end changes something.
            (State::Stopped, ..) => self.living().is_none().then(|| self.heard.saturating_add(STOPPED_NS)),
            _ => Some(self.hold),
        }
    }

    /// When the results are offered no longer.
    pub(super) fn reported(&self) -> i64 {
        self.heard.saturating_add(REPORTING_NS)
    }

    pub(super) fn status(&self, refused: u64) -> Status {
        Status {
            state: self.state,
            begun: self.begun,
            seconds: self.seconds,
            first_send_ns: self.first_send,
            why: self.why.clone(),
            refused,
            end: self.end.clone(),
        }
    }

    /// Whether another run may have the agent: this one has ended here, and only its reason is kept. What was measured until a lease
    /// was over is of an agent that its coordinator has lost: it stays in the journal.
    pub(super) fn is_over(&self, now: i64) -> bool {
        let has_ended = match self.state {
            State::Stopped => true,
            State::Reporting => self.why == Some(Why::LeaseOver {}) || now >= self.free_at(),
            _ => false,
        };
        has_ended && self.living().is_none()
    }

    /// Renewals go on while a coordinator collects: without one it is gone, and what was measured is in the journal.
    fn free_at(&self) -> i64 {
        self.heard.saturating_add(RUNNING_NS)
    }

    /// Until the end of the window, if that is decided.
    fn until_close(&self, now: i64) -> Option<i64> {
        self.armed.map(|armed| armed.close.saturating_sub(now))
    }

    /// The run, as others are told of it.
    pub(super) fn held(&self, now: i64) -> Held {
        // What has ended here is sent no more.
        let has_ended = matches!(self.state, State::Reporting | State::Stopped);
        Held {
            owner: self.owner.clone(),
            run: self.run.clone(),
            targets: if has_ended { Vec::new() } else { self.targets.clone() },
            is_described: self.load.is_some() || self.waiting.is_some(),
            left_ns: self.until_close(now),
        }
    }

    /// For how long the agent is taken, unless an order arrives.
    pub(super) fn left(&self, now: i64) -> i64 {
        let until = match (self.state, self.armed, self.committed) {
            (State::Armed | State::Running | State::Draining, ..) => self.heard.max(now).saturating_add(REPORTING_NS),
            (State::Reporting, ..) => self.free_at(),
            (State::Stopped, ..) => now.saturating_add(SECOND_NS),
            _ => self.hold,
        };
        until.saturating_sub(now).max(0)
    }
}
