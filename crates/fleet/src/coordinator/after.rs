//! From the end of the load, or a start that is given up, to the outcome.

use super::during::is_silent;
use super::outcome::{Lost, Outcome, Verdict};
use super::peer::Peer;
use super::{Coordinator, Output, Stage};
use crate::{SECOND_NS, lease, words::Order};

/// Beyond the time that requests may be unanswered.
const DRAIN_GRACE_NS: i64 = 5 * SECOND_NS;
/// For how long the last seconds may arrive.
const COLLECT_NS: i64 = 30 * SECOND_NS;
/// For how long agents may take to confirm that they are free, and between two tries.
const RELEASE_LIMIT_NS: i64 = 5 * SECOND_NS;
const RELEASE_NS: i64 = SECOND_NS / 4;
/// A lost agent is told so for this long: it becomes free by itself, too.
const RELEASE_LOST_NS: i64 = SECOND_NS;
/// After the last lease until an agent that did not answer has ended for certain.
const LEASE_GRACE_NS: i64 = SECOND_NS;

impl Coordinator {
    pub(super) fn drain_until(&self, close: i64) -> i64 {
        close.saturating_add(self.config.drain_ns).saturating_add(DRAIN_GRACE_NS)
    }

    pub(super) fn drain(&mut self, until: i64, now: i64) {
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            let lost = match &peer.end {
                _ if is_silent(peer, self.listening, now) => Some(Lost::Silent),
                None if now >= until.max(self.listening.saturating_add(DRAIN_GRACE_NS)) => Some(Lost::Ended(None)),
                _ => self.ended_early(peer),
            };
            lost.into_iter().for_each(|why| self.lose(at, why, now));
        }
        if self.peers.iter().all(|peer| peer.is_lost() || peer.end.is_some()) {
            self.stage = Stage::Collect { until: now.saturating_add(COLLECT_NS) };
        }
    }

    pub(super) fn collect(&mut self, until: i64, now: i64) {
        let lacks = |of: &Self, peer: &Peer| peer.seconds.next() < of.expected(peer);
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            let second = peer.seconds.next();
            if lacks(self, peer) && is_silent(peer, self.listening, now) {
                self.lose(at, Lost::Silent, now);
            } else if lacks(self, peer) && now >= until {
                self.lose(at, Lost::Late { second }, now);
            }
        }
        if self.peers.iter().all(|peer| peer.is_lost() || !lacks(self, peer)) {
            self.begin_release(now);
        }
    }

    /// Ends a run that no agent has begun.
    pub(super) fn give_up(&mut self, verdict: Verdict, now: i64) {
        self.decide(verdict);
        self.begin_release(now);
    }

    /// Cancels a start that agents may have heard of.
    pub(super) fn cancel(&mut self, verdict: Verdict, now: i64) {
        self.decide(verdict);
        self.frozen = Some(0);
        // An agent whose acknowledgement is lost has heard the commit, too.
        self.peers.iter_mut().for_each(|peer| peer.is_committed = true);
        self.close_all(now, now);
        let start = self.times.map_or(now, |times| times.start);
        self.stage = Stage::Cancel { until: lease::granted(now, Some(start)).saturating_add(LEASE_GRACE_NS) };
    }

    pub(super) fn cancelled(&mut self, until: i64, now: i64) {
        if now >= until || self.peers.iter().all(|peer| peer.pending.is_none()) {
            self.begin_release(now);
        }
    }

    fn begin_release(&mut self, now: i64) {
        let until = now.saturating_add(RELEASE_LIMIT_NS);
        for at in 0..self.peers.len() {
            self.peers[at].pending = None;
            if self.peers[at].may_hold {
                self.send(at, Order::Release {}, RELEASE_NS, until, now);
            }
        }
        self.stage = Stage::Release { until };
    }

    pub(super) fn release(&mut self, until: i64, now: i64) {
        let is_told = now >= until - RELEASE_LIMIT_NS + RELEASE_LOST_NS;
        let is_done = |peer: &Peer| peer.pending.is_none() || is_told && peer.is_lost();
        if now >= until || self.peers.iter().all(is_done) {
            self.stage = Stage::Over;
            let outcome = self.outcome(now);
            self.outputs.push(Output::Outcome(Box::new(outcome)));
        }
    }

    fn outcome(&self, now: i64) -> Outcome {
        let seconds = self.seconds();
        let of = |peer: &Peer| {
            let id = peer.id();
            peer.seconds.missing(self.expected(peer)).map(move |second| (id.clone(), second)).collect::<Vec<_>>()
        };
        let missing: Vec<(String, u64)> = self.peers.iter().flat_map(of).collect();
        let lost: Vec<String> = self.peers.iter().filter(|peer| peer.is_lost()).map(|peer| peer.id()).collect();
        let verdict = match &self.verdict {
            Some(verdict) => verdict.clone(),
            None if lost.is_empty() && missing.is_empty() => Verdict::Ok,
            None => Verdict::Tolerated { agents: lost },
        };
        let sends = self.peers.iter().filter_map(|peer| peer.first_send());
        let spread_ns = sends.clone().max().zip(sends.clone().min()).map(|(last, first)| last.saturating_sub(first));
        Outcome {
            verdict,
            start_ns: self.times.map(|times| times.start),
            close_ns: self.close(),
            whole_seconds: self.whole_seconds(),
            seconds,
            missing,
            marked_from: self.marked_from,
            spread_ns: spread_ns.filter(|_| sends.count() > 1),
            agents: self.peers.iter().map(|peer| peer.outcome(self.expected(peer), now)).collect(),
        }
    }
}
