//! The coordinator of one run: reserves the agents, starts their loads together or not at all, and says which seconds are there.
//!
//! It takes an answer, an event, a second or the time, and returns what to send, and once the outcome. All times are
//! nanoseconds of its own CLOCK_MONOTONIC, but those that an agent states.
//!
//! Invariants:
//! - An order is repeated with the same number until it is acknowledged or past its deadline; an agent has one such order at a
//!   time.
//! - A commit is sent only after all agents have acknowledged the times; a run goes on only after all have acknowledged the
//!   commit.
//! - A lost agent gets no renewal any more, and what comes from it is not counted.
//! - The verdict is [`Verdict::Ok`] only if each second of each agent has arrived, up to the close, or up to the end of its load where
//!   that [ends by a count](Config::ends_by_count).
//! - No load is described before all agents are reserved and, after that, no other run was met that has one of the targets.
//! - There is one outcome, after a bounded time.

mod after;
mod alone;
mod before;
mod config;
mod during;
mod expected;
mod outcome;
mod peer;
mod replies;
mod sending;

pub use config::{Config, Member};
pub use outcome::{AgentOutcome, Lost, Outcome, Rival, Started, Verdict};

use crate::words::{Envelope, Event, Notice, Reply};
use crate::{MILLISECOND_NS, SECOND_NS};
use alone::Look;
use peer::Peer;

/// For how long agents may take to say that they are there.
const GATHER_NS: i64 = SECOND_NS;
/// A step that comes later than this after the one before: the coordinator was held up, and took no message meanwhile.
const HELD_UP_NS: i64 = 1200 * MILLISECOND_NS;
/// The longest time between two steps.
const STEP_NS: i64 = 100 * MILLISECOND_NS;

/// The state machine of a coordinator.
#[derive(Debug, Clone)]
pub struct Coordinator {
    config: Config,
    /// In the order of their ids.
    peers: Vec<Peer>,
    stage: Stage,
    /// Number of the last order.
    seq: u64,
    random: u64,
    stepped: i64,
    /// Since when the coordinator has not been held up: silence before it is its own.
    listening: i64,
    times: Option<Times>,
    /// The start, once a commit is sent.
    committed: Option<i64>,
    verdict: Option<Verdict>,
    /// Seconds that were whole when the run ended before its time.
    frozen: Option<u64>,
    marked_from: Option<u64>,
    look: Look,
    outputs: Vec<Output>,
}

/// Times of the load.
#[derive(Debug, Clone, Copy)]
struct Times {
    start: i64,
    close: i64,
}

/// Where a run is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Agents say that they are there.
    Gather { until: i64, again_at: i64 },
    /// They are reserved one after another; `tries` before this one have failed.
    Reserve { next: usize, tries: u32 },
    /// Some are given back; after that all are tried again.
    GiveBack { until: i64, tries: u32 },
    /// Clocks are compared.
    Sync { until: i64 },
    /// The load is described.
    Task { until: i64 },
    /// Connections are opened.
    Connect { until: i64 },
    /// The times are told, after so many that were not acknowledged in time.
    Arm { tries: u32 },
    /// The start is confirmed.
    Commit,
    /// The start is cancelled, though an agent may have heard the commit.
    Cancel { until: i64 },
    /// Load is made.
    Run,
    /// Agents wait for their last answers.
    Drain { until: i64 },
    /// The last seconds arrive.
    Collect { until: i64 },
    /// Agents become free.
    Release { until: i64 },
    /// The outcome is told.
    Over,
}

/// What a coordinator sends, in this order, and finally its outcome.
#[derive(Debug, Clone, PartialEq)]
pub enum Output {
    /// Ask which agents are there; [`Coordinator::found`] takes the answers.
    Find,
    /// Ask all agents which runs they have; [`Coordinator::looked`] takes the answers, with this number.
    Look {
        /// Number of the look.
        number: u64,
    },
    /// Send an order.
    Order {
        /// Id of the agent.
        agent: String,
        /// The order.
        envelope: Box<Envelope>,
    },
    /// The run is over.
    Outcome(Box<Outcome>),
}

impl Coordinator {
    /// A coordinator that begins now. Its first [`Self::tick`] asks which agents are there.
    pub fn new(mut config: Config, now: i64) -> Self {
        config.members.sort_by(|a, b| a.id.cmp(&b.id));
        Self {
            peers: config.members.iter().map(|member| Peer::new(member.clone(), now)).collect(),
            stage: Stage::Gather { until: now.saturating_add(GATHER_NS), again_at: now },
            seq: 0,
            random: config.seed | 1,
            stepped: now,
            listening: now,
            times: None,
            committed: None,
            verdict: None,
            frozen: None,
            marked_from: None,
            look: Look::default(),
            outputs: Vec::new(),
            config,
        }
    }

    /// Takes an agent that is there.
    pub fn found(&mut self, agent: &str, incarnation: u64, now: i64) -> Vec<Output> {
        self.notice_pause(now);
        if let Some(at) = self.place(agent)
            && matches!(self.stage, Stage::Gather { .. })
        {
            self.peers[at].incarnation = Some(incarnation);
        }
        self.step(now)
    }

    /// Takes an answer.
    pub fn reply(&mut self, reply: &Reply, now: i64) -> Vec<Output> {
        self.notice_pause(now);
        if reply.run == self.config.run
            && reply.epoch == self.config.epoch
            && let Some(at) = self.heard(&reply.agent, reply.incarnation, now)
        {
            self.on_answer(at, reply.seq, &reply.answer, now);
        }
        self.step(now)
    }

    /// Takes an event.
    pub fn notice(&mut self, notice: &Notice, now: i64) -> Vec<Output> {
        self.notice_pause(now);
        if notice.run == self.config.run
            && notice.epoch == self.config.epoch
            && let Some(at) = self.heard(&notice.agent, notice.incarnation, now)
        {
            let peer = &mut self.peers[at];
            match &notice.event {
                Event::Connecting { .. } => peer.is_prepared = true,
                Event::Ready {} => (peer.is_prepared, peer.is_ready) = (true, true),
                Event::Failed { error } => {
                    let why = crate::words::Why::Failed { error: error.clone() };
                    peer.stopped.get_or_insert(Some(why));
                }
                Event::End(end) => peer.finish(end),
            }
        }
        self.step(now)
    }

    /// Takes the number of a second that is there as a whole, from parts of this run and epoch. Whether it counts is `true`
    /// once: then its table must be added.
    pub fn second(&mut self, agent: &str, incarnation: u64, second: u64, now: i64) -> (bool, Vec<Output>) {
        self.notice_pause(now);
        let counts = match self.heard(agent, incarnation, now) {
            Some(at) => self.is_running() && second < self.expected(&self.peers[at]) && self.peers[at].count(second),
            None => false,
        };
        (counts, self.step(now))
    }

    /// Ends the run, as a user asks.
    pub fn interrupt(&mut self, now: i64) -> Vec<Output> {
        self.notice_pause(now);
        self.on_interrupt(now);
        self.step(now)
    }

    /// Does what is due.
    pub fn tick(&mut self, now: i64) -> Vec<Output> {
        self.notice_pause(now);
        self.step(now)
    }

    /// When the next tick is due; `None` once the outcome is told.
    pub fn due(&self) -> Option<i64> {
        (self.stage != Stage::Over).then(|| self.stepped.saturating_add(STEP_NS))
    }

    /// Seconds from 0 on that are there from all agents that are not lost: what a view or a rule may look at.
    pub fn whole_seconds(&self) -> u64 {
        self.frozen.unwrap_or_else(|| self.whole())
    }

    /// The start of the load, once all agents have confirmed it, and the end of the window as it is decided now.
    pub fn times(&self) -> Option<(i64, i64)> {
        self.times.filter(|_| self.is_running()).map(|times| times.start).zip(self.close())
    }

    /// Ids of the agents that are lost, each with the reason.
    pub fn lost(&self) -> impl Iterator<Item = (&str, &Lost)> {
        self.peers.iter().filter_map(|peer| Some((peer.member.id.as_str(), &peer.lost.as_ref()?.1)))
    }

    /// Agents of which a second is missing more than 2 s after its end.
    pub fn late(&self, now: i64) -> Vec<&str> {
        if self.stage != Stage::Run {
            return Vec::new();
        }
        let is_late = |peer: &&Peer| self.late_since(peer).is_some_and(|since| now >= since + during::LATE_NS);
        let living = self.peers.iter().filter(|peer| !peer.is_lost());
        living.filter(is_late).map(|peer| peer.member.id.as_str()).collect()
    }

    fn place(&self, agent: &str) -> Option<usize> {
        self.peers.iter().position(|peer| peer.member.id == agent)
    }

    /// The agent of this id, unless it is lost. One that has started again is lost, too, if it was reserved.
    fn heard(&mut self, agent: &str, incarnation: u64, now: i64) -> Option<usize> {
        let at = self.place(agent)?;
        let peer = &mut self.peers[at];
        let is_restarted = peer.incarnation.is_some_and(|known| known != incarnation) && peer.is_reserved;
        if is_restarted {
            self.lose(at, Lost::Restarted, now);
        }
        let peer = &mut self.peers[at];
        if peer.is_lost() || is_restarted {
            return None;
        }
        (peer.incarnation, peer.heard) = (Some(incarnation), now);
        Some(at)
    }

    /// Notices that the coordinator itself was held up: that it took no message meanwhile says nothing of the agents.
    fn notice_pause(&mut self, now: i64) {
        if now.saturating_sub(self.stepped) > HELD_UP_NS {
            self.listening = now;
        }
        self.stepped = now;
    }

    fn step(&mut self, now: i64) -> Vec<Output> {
        loop {
            let stage = self.stage;
            match stage {
                Stage::Gather { until, again_at } => self.gather(until, again_at, now),
                Stage::Reserve { next, tries } => self.reserve(next, tries, now),
                Stage::GiveBack { until, tries } => self.after_giving_back(until, tries, now),
                Stage::Sync { until } => self.sync(until, now),
                Stage::Task { until } => self.task(until, now),
                Stage::Connect { until } => self.connect(until, now),
                Stage::Arm { tries } => self.arm(tries, now),
                Stage::Commit => self.commit(now),
                Stage::Cancel { until } => self.cancelled(until, now),
                Stage::Run => self.run(now),
                Stage::Drain { until } => self.drain(until, now),
                Stage::Collect { until } => self.collect(until, now),
                Stage::Release { until } => self.release(until, now),
                Stage::Over => (),
            }
            if self.stage == stage {
                break;
            }
        }
        self.repeat(now);
        self.renew(now);
        std::mem::take(&mut self.outputs)
    }

    /// Whether load is or was made under this coordinator.
    fn is_running(&self) -> bool {
        matches!(self.stage, Stage::Run | Stage::Drain { .. } | Stage::Collect { .. })
    }

    /// A number below `end`, by Marsaglia's xorshift.
    fn below(&mut self, end: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % end
    }
}

#[cfg(test)]
mod tests;
