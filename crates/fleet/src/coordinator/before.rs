//! From the first question to the start: all agents, or none.

use super::outcome::{Lost, Verdict};
use super::peer::Peer;
use super::{Coordinator, Output, Stage, Times};
use crate::words::{Arm, Order, Task};
use crate::{MILLISECOND_NS, SECOND_NS, lease};

/// Between two questions which agents are there.
const FIND_NS: i64 = 300 * MILLISECOND_NS;
/// Between two reservations of the same agent, of which three are sent.
const RESERVE_NS: i64 = 2 * SECOND_NS;
const RESERVE_LIMIT_NS: i64 = 3 * RESERVE_NS;
/// Between giving back and the next try: this much at least, and less than four times as much.
const PAUSE_NS: i64 = SECOND_NS / 2;
/// Exchanges with each agent, and how few are enough once the time is over.
const EXCHANGES: u64 = 64;
const FEWEST_EXCHANGES: u64 = 8;
const SYNC_LIMIT_NS: i64 = 10 * SECOND_NS;
/// An answer about the clock that takes longer is not waited for.
const SYNC_NS: i64 = SECOND_NS / 2;
const TASK_NS: i64 = SECOND_NS;
const TASK_LIMIT_NS: i64 = 10 * SECOND_NS;
/// From the decision to start until the start, at least.
const NOTICE_NS: i64 = 2 * SECOND_NS;
/// A round trip that is longer is that of a lost message.
const LONG_WAY_NS: i64 = 2 * SECOND_NS;
/// Times that are told until all agents have acknowledged them in time.
const ARM_TRIES: u32 = 3;
/// Before the start: the deadline of a commit, and when the start is cancelled if an acknowledgement is missing.
const COMMIT_BY_NS: i64 = 300 * MILLISECOND_NS;
const CANCEL_BY_NS: i64 = 200 * MILLISECOND_NS;
/// Between two tries to arm or to commit, unless messages take longer.
const ARM_NS: i64 = 100 * MILLISECOND_NS;

impl Coordinator {
    pub(super) fn gather(&mut self, until: i64, again_at: i64, now: i64) {
        match self.peers.iter().find(|peer| peer.incarnation.is_none()) {
            None if self.peers.is_empty() => self.give_up(Verdict::NoAgent, now),
            None => self.stage = Stage::Reserve { next: 0, tries: 0 },
            Some(peer) if now >= until => {
                let verdict = Verdict::NoAnswer { agent: peer.id(), to: "who is there" };
                self.give_up(verdict, now);
            }
            Some(_) if now >= again_at => {
                self.outputs.push(Output::Find);
                self.stage = Stage::Gather { until, again_at: now.saturating_add(FIND_NS) };
            }
            Some(_) => (),
        }
    }

    /// One agent after another, in the order of their ids: of two coordinators that want the same ones, one has the first.
    pub(super) fn reserve(&mut self, next: usize, tries: u32, now: i64) {
        let Some(peer) = self.peers.get(next) else {
            self.stage = Stage::Sync { until: now.saturating_add(SYNC_LIMIT_NS) };
            return self.begin_look(now);
        };
        if peer.is_reserved {
            self.stage = Stage::Reserve { next: next + 1, tries };
        } else if let Some(pending) = &peer.pending
            && matches!(pending.order, Order::Reserve { .. })
        {
            if now > pending.deadline {
                let verdict = Verdict::NoAnswer { agent: peer.id(), to: "reserve" };
                self.give_up(verdict, now);
            }
        } else {
            self.peers[next].may_hold = true;
            let order = Order::Reserve { owner: self.config.owner.clone(), targets: self.config.targets.clone() };
            self.send(next, order, RESERVE_NS, now.saturating_add(RESERVE_LIMIT_NS), now);
        }
    }

    /// An agent is busy: those that are reserved are given back, so that no run waits for another.
    pub(super) fn on_busy(&mut self, verdict: Verdict, now: i64) {
        let Stage::Reserve { tries, next } = self.stage else { return };
        self.peers[next].may_hold = false;
        if tries + 1 >= self.config.tries {
            return self.give_up(verdict, now);
        }
        let until = now.saturating_add(PAUSE_NS + self.below(3 * PAUSE_NS as u64) as i64);
        for at in 0..self.peers.len() {
            if self.peers[at].may_hold {
                self.send(at, Order::Release {}, PAUSE_NS / 2, until, now);
            }
            self.peers[at].give_back();
        }
        self.stage = Stage::GiveBack { until, tries: tries + 1 };
    }

    pub(super) fn after_giving_back(&mut self, until: i64, tries: u32, now: i64) {
        if now >= until {
            self.stage = Stage::Reserve { next: 0, tries };
        }
    }

    pub(super) fn sync(&mut self, until: i64, now: i64) {
        let is_alone = self.is_alone(now);
        if !matches!(self.stage, Stage::Sync { .. }) {
            return;
        }
        let needed = if now < until { EXCHANGES } else { FEWEST_EXCHANGES };
        let Some(at) = self.peers.iter().position(|peer| peer.clock.exchanges() < needed) else {
            if is_alone && self.is_clock_known(now) {
                self.begin_task(now);
            }
            return;
        };
        if now >= until {
            return self.give_up(Verdict::NoAnswer { agent: self.peers[at].id(), to: "sync" }, now);
        }
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            // Four times what an exchange takes is enough to know that this one is lost or as good as that.
            let patience =
                peer.clock.round_trip().map_or(SYNC_NS, |trip| (4 * trip).clamp(20 * MILLISECOND_NS, SYNC_NS));
            let waits = peer.asked().is_some_and(|asked| now < asked.saturating_add(patience));
            if peer.clock.exchanges() < EXCHANGES && !waits {
                self.ask(at, Order::Sync {}, SYNC_NS, now);
            }
        }
    }

    /// Gives up if a clock is not known well enough.
    fn is_clock_known(&mut self, now: i64) -> bool {
        let Some(limit_ns) = self.config.skew_ns else { return true };
        let bound = |peer: &Peer| peer.clock.estimate().map_or(i64::MAX, |clock| clock.bound_at_coordinator(now));
        let worst = self.peers.iter().map(|peer| (bound(peer), peer)).max_by_key(|(bound, _)| *bound);
        match worst {
            Some((bound_ns, peer)) if bound_ns > limit_ns => {
                let verdict = Verdict::ClockUncertain { agent: peer.id(), bound_ns, limit_ns };
                self.give_up(verdict, now);
                false
            }
            _ => true,
        }
    }

    fn begin_task(&mut self, now: i64) {
        let accepted_by = now.saturating_add(TASK_LIMIT_NS);
        self.stage = Stage::Task { until: accepted_by.saturating_add(self.config.prepare_ns) };
        for at in 0..self.peers.len() {
            let Some(clock) = self.peers[at].clock.estimate() else { continue };
            let member = &self.peers[at].member;
            let task = Task {
                clock,
                threads: self.config.threads,
                first: member.first,
                end: member.end,
                drain_ns: self.config.drain_ns,
                load: self.config.load.clone(),
            };
            self.send(at, Order::Task(Box::new(task)), TASK_NS, accepted_by, now);
        }
    }

    pub(super) fn task(&mut self, until: i64, now: i64) {
        if self.has_stopped(now) {
            return;
        }
        // What is not accepted by its deadline is not carried out; what is accepted may be prepared for longer.
        let is_refused = |peer: &&Peer| peer.pending.as_ref().is_some_and(|pending| now >= pending.deadline);
        let waits = |peer: &&Peer| peer.pending.is_some() || !peer.is_prepared;
        let silent =
            self.peers.iter().find(is_refused).or_else(|| self.peers.iter().find(waits).filter(|_| now >= until));
        if let Some(peer) = silent {
            let verdict = Verdict::NoAnswer { agent: peer.id(), to: "task" };
            self.give_up(verdict, now);
        } else if !self.peers.iter().any(|peer| waits(&peer)) {
            self.stage = Stage::Connect { until: now.saturating_add(self.config.connect_ns) };
        }
    }

    pub(super) fn connect(&mut self, until: i64, now: i64) {
        if self.has_stopped(now) {
            return;
        }
        match self.peers.iter().find(|peer| !peer.is_ready) {
            None => {
                if self.is_clock_known(now) {
                    self.begin_arm(0, now);
                }
            }
            Some(peer) if now >= until => {
                let verdict = Verdict::NoAnswer { agent: peer.id(), to: "connect" };
                self.give_up(verdict, now);
            }
            Some(_) => (),
        }
    }

    /// Gives up if the run has ended on an agent, or an agent is silent.
    fn has_stopped(&mut self, now: i64) -> bool {
        if let Some(peer) = self.peers.iter().find(|peer| peer.stopped.is_some()) {
            let verdict = Verdict::Failed { agent: peer.id(), why: peer.stopped.clone().flatten() };
            self.give_up(verdict, now);
            return true;
        }
        let silent = self.peers.iter().position(|peer| super::during::is_silent(peer, self.listening, now));
        silent.into_iter().for_each(|at| self.lose(at, Lost::Silent, now));
        silent.is_some()
    }

    /// Each of the `tries` has twice the time of the one before.
    fn begin_arm(&mut self, tries: u32, now: i64) {
        let notice = NOTICE_NS.max(20 * self.round_trip()).max(4 * self.longest_round_trip().min(LONG_WAY_NS));
        let start = now.saturating_add(notice << tries);
        let open = start.saturating_add(self.config.warmup_ns);
        let close = open.saturating_add(self.config.window_ns);
        self.times = Some(Times { start, close });
        self.stage = Stage::Arm { tries };
        for at in 0..self.peers.len() {
            let Some(clock) = self.peers[at].clock.estimate() else { continue };
            self.peers[at].armed_clock = Some(clock);
            let arm = Arm { clock, start_ns: start, open_ns: open, close_ns: close };
            self.send(at, Order::Arm(arm), self.arm_every(), start - COMMIT_BY_NS, now);
        }
    }

    pub(super) fn arm(&mut self, tries: u32, now: i64) {
        let Some(Times { start, .. }) = self.times else { return };
        if self.has_stopped(now) {
            return;
        }
        let missing = self.unacknowledged();
        if now >= start - COMMIT_BY_NS && tries + 1 < ARM_TRIES {
            // Agents that have acknowledged these times take others as long as none is committed.
            self.begin_arm(tries + 1, now);
        } else if now >= start - COMMIT_BY_NS {
            self.give_up(Verdict::NotCommitted { agents: missing }, now);
        } else if missing.is_empty() {
            self.stage = Stage::Commit;
            self.committed = Some(start);
            for at in 0..self.peers.len() {
                let lease_until_ns = lease::granted(now, Some(start));
                self.send(at, Order::Commit { lease_until_ns }, self.arm_every(), start - COMMIT_BY_NS, now);
            }
        }
    }

    pub(super) fn commit(&mut self, now: i64) {
        let Some(Times { start, .. }) = self.times else { return };
        let missing = self.unacknowledged();
        if missing.is_empty() {
            self.stage = Stage::Run;
        } else if now >= start - CANCEL_BY_NS {
            self.cancel(Verdict::NotCommitted { agents: missing }, now);
        }
    }

    fn unacknowledged(&self) -> Vec<String> {
        self.peers.iter().filter(|peer| peer.pending.is_some()).map(Peer::id).collect()
    }

    /// Longest of the least round trips.
    fn round_trip(&self) -> i64 {
        self.peers.iter().filter_map(|peer| peer.clock.round_trip()).max().unwrap_or(0)
    }

    /// Longest of all round trips until now: a machine that is busy answers late now and then.
    fn longest_round_trip(&self) -> i64 {
        self.peers.iter().map(|peer| peer.longest_round_trip).max().unwrap_or(0)
    }

    fn arm_every(&self) -> i64 {
        ARM_NS.max(2 * self.round_trip())
    }
}
