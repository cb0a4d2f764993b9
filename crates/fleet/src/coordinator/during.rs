//! While load is made: which agents are lost, and when it is over.

use super::outcome::{Lost, Verdict};
use super::peer::Peer;
use super::{Coordinator, Stage, Times};
use crate::words::{Order, Why};
use crate::{MILLISECOND_NS, SECOND_NS};

/// A second that is missing for so long after its end is late.
pub(super) const LATE_NS: i64 = 2 * SECOND_NS;
/// An agent is lost that is silent for so long, or of which a second is missing for so long after its end.
pub(super) const LOST_NS: i64 = 5 * SECOND_NS;
/// From the decision to end until the end, so that all agents hear of it before.
const NOTICE_NS: i64 = 300 * MILLISECOND_NS;
/// Between two tries to close.
pub(super) const CLOSE_NS: i64 = 200 * MILLISECOND_NS;
/// Agents end by themselves when their lease does; until then a close is repeated.
pub(super) const CLOSE_LIMIT_NS: i64 = 6 * SECOND_NS;

/// Whether an agent has said nothing for too long, though the coordinator listened.
pub(super) fn is_silent(peer: &Peer, listening: i64, now: i64) -> bool {
    !peer.is_lost() && now >= peer.heard.max(listening).saturating_add(LOST_NS)
}

impl Coordinator {
    pub(super) fn run(&mut self, now: i64) {
        let Some(Times { close, .. }) = self.times else { return };
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            let since = |since: i64| since.max(self.listening).saturating_add(LOST_NS);
            let lost = if is_silent(peer, self.listening, now) {
                Some(Lost::Silent)
            } else if self.late_since(peer).is_some_and(|end| now >= since(end)) {
                Some(Lost::Late { second: peer.seconds.next() })
            } else {
                self.ended_early(peer)
            };
            if let Some(why) = lost.filter(|_| !self.peers[at].is_lost()) {
                self.lose(at, why, now);
            }
            if self.stage != Stage::Run {
                return;
            }
        }
        if now >= close || self.have_all_ended() {
            self.stage = Stage::Drain { until: self.drain_until(close) };
        }
    }

    /// Whether the load of an agent ended before the run, or never began. The latter would be a lower load than was asked for.
    pub(super) fn ended_early(&self, peer: &Peer) -> Option<Lost> {
        let expected = self.expected(peer);
        let is_early = |end: &crate::words::End| end.seconds < expected || end.why == Some(Why::LeaseOver {});
        match (&peer.end, &peer.stopped) {
            (Some(end), _) if is_early(end) => Some(Lost::Ended(end.why.clone())),
            (Some(_), _) if peer.first_send.is_none() => Some(Lost::NeverSent),
            (None, Some(why)) => Some(Lost::Ended(why.clone())),
            _ => None,
        }
    }

    /// An agent is lost, unless all of it is there: the others go on if that is tolerated, and end else. Once agents are released
    /// none is lost: what one that is free says to an old question means nothing.
    pub(super) fn lose(&mut self, at: usize, why: Lost, now: i64) {
        let is_released = matches!(self.stage, Stage::Release { .. } | Stage::Over);
        if self.peers[at].is_lost() || is_released || self.is_complete(&self.peers[at]) {
            return;
        }
        let whole = self.whole_seconds();
        self.peers[at].lost = Some((now, why.clone()));
        let lost = self.peers.iter().filter(|peer| peer.is_lost()).count();
        let agent = self.peers[at].id();
        let is_tolerated = lost <= self.config.tolerate && lost < self.peers.len();
        let verdict = Verdict::AgentLost { agent, whole_seconds: whole, why };
        match self.stage {
            Stage::Run | Stage::Drain { .. } | Stage::Collect { .. } if is_tolerated => {
                self.marked_from = self.marked_from.or(Some(whole));
            }
            Stage::Run => {
                self.frozen = self.frozen.or(Some(whole));
                self.end_early(verdict, now);
            }
            Stage::Drain { .. } | Stage::Collect { .. } => {
                self.frozen = self.frozen.or(Some(whole));
                self.decide(verdict);
            }
            Stage::Commit => self.cancel(verdict, now),
            Stage::Cancel { .. } | Stage::Release { .. } | Stage::Over => (),
            _ => self.give_up(verdict, now),
        }
    }

    pub(super) fn on_interrupt(&mut self, now: i64) {
        match self.stage {
            Stage::Commit => self.cancel(Verdict::Interrupted, now),
            Stage::Run => self.end_early(Verdict::Interrupted, now),
            Stage::Cancel { .. } | Stage::Drain { .. } | Stage::Collect { .. } => (),
            Stage::Release { .. } | Stage::Over => (),
            _ => self.give_up(Verdict::Interrupted, now),
        }
    }

    /// Ends the load of all agents soon, or cancels a start that is as near as that.
    fn end_early(&mut self, verdict: Verdict, now: i64) {
        let Some(Times { start, close }) = self.times else { return };
        let end = now.saturating_add(NOTICE_NS);
        if end <= start {
            return self.cancel(verdict, now);
        }
        self.decide(verdict);
        let end = close.min(end);
        self.times = Some(Times { start, close: end });
        self.close_all(end, now);
        self.stage = Stage::Drain { until: self.drain_until(end) };
    }

    pub(super) fn close_all(&mut self, at_ns: i64, now: i64) {
        for at in 0..self.peers.len() {
            self.send(at, Order::Close { at_ns }, CLOSE_NS, now.saturating_add(CLOSE_LIMIT_NS), now);
        }
    }

    /// The first reason to end is the one that is told.
    pub(super) fn decide(&mut self, verdict: Verdict) {
        self.verdict.get_or_insert(verdict);
    }
}
