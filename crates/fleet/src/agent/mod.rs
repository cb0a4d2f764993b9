//! An agent: holds itself for one run, and starts and ends its load as that run's coordinator orders.
//!
//! It takes an order, a happening of its load or the time, and returns what to answer and to do. All its times are nanoseconds
//! of its own CLOCK_MONOTONIC, those in orders excepted.
//!
//! Invariants:
//! - It has at most one run, and a load is prepared only after the one before is gone.
//! - A load begins only if it was armed and committed, and with a lease that ends [`crate::lease::RUNNING_NS`] after the start at
//!   the latest. Once a lease is over it cannot be renewed.
//! - An order is carried out once: a repetition gets the same answer, an older one is refused, and so is one that may be late.
//! - Without orders it becomes idle by itself: 30 s after a reservation, 60 s after the last order once it has a lease.

mod happenings;
mod orders;
mod seen;
mod session;
mod time;

use crate::words::{Envelope, Event, Notice, Refusal, Reply, State, Status, Task, Version};
use seen::Seen;
use session::Session;
use std::collections::VecDeque;

/// Runs that are remembered after their end, so that their orders are known as old ones.
const REMEMBERED: usize = 16;

/// The state machine of an agent.
#[derive(Debug, Clone)]
pub struct Agent {
    id: String,
    incarnation: u64,
    session: Option<Session>,
    past: VecDeque<Past>,
    /// Number of the last load.
    loads: u64,
    /// A load that was abandoned and may not be gone yet.
    clearing: Option<u64>,
    refusals: Refusals,
    outputs: Vec<Output>,
}

/// A run that is over here.
#[derive(Debug, Clone)]
struct Past {
    owner: String,
    run: String,
    epoch: u64,
    seen: Seen,
}

/// A run that has an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held {
    /// Its owner.
    pub owner: String,
    /// Its id.
    pub run: String,
    /// What its load is sent to; nothing once that has ended here.
    pub targets: Vec<String>,
    /// Whether the load is described.
    pub is_described: bool,
    /// Until the end of the window, in nanoseconds, if that is decided.
    pub left_ns: Option<i64>,
}

/// Orders that were refused since the agent started.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Refusals {
    /// Older than another one.
    pub old: u64,
    /// After their deadline.
    pub late: u64,
    /// For a run that the agent has not.
    pub unknown: u64,
    /// Not fitting the state.
    pub state: u64,
}

impl Refusals {
    /// All of them.
    pub fn total(&self) -> u64 {
        self.old + self.late + self.unknown + self.state
    }
}

/// What an agent sends or does, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Answer an order.
    Reply(Box<Reply>),
    /// Tell the coordinator.
    Notice(Box<Notice>),
    /// Do this with the load of this number.
    Effect {
        /// Number of the load, counted by the agent.
        load: u64,
        /// What to do.
        effect: Effect,
    },
}

/// What happens to a load. Times are those of the agent's clock.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Prepare this load, for the run and epoch; no other one is there.
    Prepare {
        /// Id of the run.
        run: String,
        /// Epoch of the coordinator.
        epoch: u64,
        /// The load.
        task: Box<Task>,
    },
    /// Open the connections.
    Connect,
    /// Begin at these times. Each load thread tests both `close` and the lease before it sends.
    Begin {
        /// First request.
        start: i64,
        /// Start of the window.
        open: i64,
        /// End of the window.
        close: i64,
    },
    /// Send nothing from this time on. It is set before the load begins, and later once it is renewed.
    Lease {
        /// The end of the lease.
        until: i64,
    },
    /// The window ends at this time instead, which may have passed.
    CloseAt {
        /// The end of the window.
        close: i64,
    },
    /// The window is over: threads may end once their last answers are there.
    Release,
    /// Send nothing more, and end.
    Abandon,
    /// Write this second to the journal of the run.
    Keep {
        /// Number of the second.
        second: u64,
    },
    /// Send to the coordinator what the journal has, from this second on.
    Send {
        /// Number of the first second.
        from: u64,
    },
}

/// What happens to a load.
#[derive(Debug, Clone, PartialEq)]
pub enum Happening {
    /// It is prepared.
    Prepared,
    /// So many connections are open.
    Connecting {
        /// Connections that are open.
        opened: u64,
    },
    /// All connections are open.
    Connected,
    /// It cannot go on.
    Failed {
        /// The error, one line.
        error: String,
    },
    /// The first thread has begun to send.
    FirstSend {
        /// When, on the agent's clock.
        at: i64,
    },
    /// A second is measured; seconds come in order from 0.
    Second {
        /// Number of the second.
        second: u64,
    },
    /// All its threads have ended; nothing comes after it. Of an abandoned load, too.
    Drained {
        /// Digest of the journal, as text.
        digest: String,
    },
}

impl Agent {
    /// An agent that has just started. `incarnation` is another number at each start of the program.
    pub fn new(id: impl Into<String>, incarnation: u64) -> Self {
        Self {
            id: id.into(),
            incarnation,
            session: None,
            past: VecDeque::new(),
            loads: 0,
            clearing: None,
            refusals: Refusals::default(),
            outputs: Vec::new(),
        }
    }

    /// Takes an order that arrived at one time and is answered at another, which is now.
    pub fn order(&mut self, envelope: &Envelope, arrived: i64, now: i64) -> Vec<Output> {
        self.advance(now);
        let answer = self.answer(envelope, arrived, now);
        self.outputs.push(Output::Reply(Box::new(Reply {
            version: Version,
            run: envelope.run.clone(),
            epoch: envelope.epoch,
            seq: envelope.seq,
            agent: self.id.clone(),
            incarnation: self.incarnation,
            answer,
        })));
        std::mem::take(&mut self.outputs)
    }

    /// Takes what happened to the load of this number.
    pub fn happened(&mut self, load: u64, happening: Happening, now: i64) -> Vec<Output> {
        self.advance(now);
        self.take(load, happening, now);
        std::mem::take(&mut self.outputs)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: i64) -> Vec<Output> {
        self.advance(now);
        std::mem::take(&mut self.outputs)
    }

    /// Ends what the agent does, for this reason.
    pub fn halt(&mut self, why: &str, now: i64) -> Vec<Output> {
        self.advance(now);
        if self.session.as_ref().is_some_and(|session| !matches!(session.state, State::Reporting | State::Stopped)) {
            self.fail(why.to_owned());
        }
        std::mem::take(&mut self.outputs)
    }

    /// When the next tick is due; `None` if only an order or a happening can change anything.
    pub fn due(&self) -> Option<i64> {
        self.session.as_ref().and_then(Session::due)
    }

    /// Where the agent is.
    pub fn state(&self) -> State {
        self.session.as_ref().map_or(State::Idle, |session| session.state)
    }

    /// Id of the agent.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The incarnation of the agent.
    pub fn incarnation(&self) -> u64 {
        self.incarnation
    }

    /// Run and epoch of the coordinator of the agent.
    pub fn run(&self) -> Option<(&str, u64)> {
        self.session.as_ref().map(|session| (session.run.as_str(), session.epoch))
    }

    /// The run that has the agent, unless another may have it.
    pub fn held(&self, now: i64) -> Option<Held> {
        self.session.as_ref().filter(|session| !session.is_over(now)).map(|session| session.held(now))
    }

    /// Orders that were refused.
    pub fn refusals(&self) -> Refusals {
        self.refusals
    }

    /// What is to be known of the agent.
    pub fn status(&self) -> Status {
        let refused = self.refusals.total();
        self.session.as_ref().map_or_else(|| Status::idle(refused), |session| session.status(refused))
    }

    /// Counts a refusal.
    fn count(&mut self, refusal: &Refusal) {
        let count = match refusal {
            Refusal::Old {} => &mut self.refusals.old,
            Refusal::Late {} => &mut self.refusals.late,
            Refusal::Unknown {} => &mut self.refusals.unknown,
            Refusal::State(_) => &mut self.refusals.state,
        };
        *count += 1;
    }

    fn effect(&mut self, load: u64, effect: Effect) {
        self.outputs.push(Output::Effect { load, effect });
    }

    fn tell(&mut self, event: Event) {
        let Some(session) = &self.session else { return };
        let notice = Notice {
            version: Version,
            run: session.run.clone(),
            epoch: session.epoch,
            agent: self.id.clone(),
            incarnation: self.incarnation,
            event,
        };
        self.outputs.push(Output::Notice(Box::new(notice)));
    }

    /// Becomes idle; what the run has seen is remembered.
    fn forget(&mut self) {
        let Some(Session { owner, run, epoch, seen, .. }) = self.session.take() else { return };
        self.past.retain(|past| (&past.run, past.epoch) != (&run, epoch));
        self.remember(Past { owner, run, epoch, seen });
    }

    fn remember(&mut self, past: Past) {
        self.past.push_back(past);
        if self.past.len() > REMEMBERED {
            self.past.pop_front();
        }
    }
}

#[cfg(test)]
mod tests;
