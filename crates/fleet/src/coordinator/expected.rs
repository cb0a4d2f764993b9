//! Which seconds an agent is to have, and which are there from all.
//!
//! All of this follows from [`Coordinator::expected`]. A load that ends by a count has its seconds until its own end, which is known once
//! the agent has told it; until then, as every other load, those until the close.

use super::peer::Peer;
use super::{Coordinator, Times};
use crate::SECOND_NS;
use crate::words::Why;

impl Coordinator {
    /// Seconds of an agent from 0 on.
    pub(super) fn expected(&self, peer: &Peer) -> u64 {
        self.finished(peer).unwrap_or_else(|| self.seconds())
    }

    /// Seconds of the run: until the close, or until the last agent has finished. A lost one has those that have arrived in a row.
    pub(super) fn seconds(&self) -> u64 {
        if !self.config.ends_by_count {
            return self.until_close();
        }
        let of = |peer: &Peer| self.finished(peer).or_else(|| peer.is_lost().then(|| peer.seconds.next()));
        let last = self.peers.iter().try_fold(0, |last: u64, peer| Some(last.max(of(peer)?)));
        last.unwrap_or_else(|| self.until_close())
    }

    /// The end of the window as far as it is known: the close, or the end of the last second of the last agent.
    pub(super) fn close(&self) -> Option<i64> {
        let Times { start, close } = self.times?;
        Some(close.min(end_of(start, self.seconds())))
    }

    fn until_close(&self) -> u64 {
        let length = self.times.map_or(0, |Times { start, close }| close.saturating_sub(start).max(0));
        (length as u64).div_ceil(SECOND_NS as u64)
    }

    /// Seconds of an agent whose load has ended by itself; `None` if it has not, or may not. One that was told of a close ends there, and
    /// if it had fewer seconds its load was over before.
    fn finished(&self, peer: &Peer) -> Option<u64> {
        let end = peer.end.as_ref().filter(|_| self.config.ends_by_count)?;
        matches!(end.why, None | Some(Why::Closed {})).then(|| end.seconds.min(self.until_close()))
    }

    /// Whether nothing of an agent is missing, nor will be: it has finished, and its seconds are there. It cannot be lost any more.
    pub(super) fn is_complete(&self, peer: &Peer) -> bool {
        let has_all = |seconds: u64| peer.seconds.next() >= seconds;
        self.finished(peer).is_some_and(has_all) && peer.first_send.is_some()
    }

    /// Whether the load of each agent that is not lost ended by a count.
    pub(super) fn have_all_ended(&self) -> bool {
        self.peers.iter().all(|peer| peer.is_lost() || self.finished(peer).is_some())
    }

    /// The end of the first second that is missing of an agent; `None` if all have arrived.
    pub(super) fn late_since(&self, peer: &Peer) -> Option<i64> {
        let Times { start, close } = self.times?;
        let next = peer.seconds.next();
        (next < self.expected(peer)).then(|| end_of(start, next + 1).min(close))
    }

    /// Seconds from 0 on that are there from all agents but the lost ones, as far as an agent has them.
    pub(super) fn whole(&self) -> u64 {
        let living = self.peers.iter().filter(|peer| !peer.is_lost());
        let there = |peer: &Peer| (peer.seconds.next() < self.expected(peer)).then(|| peer.seconds.next());
        let all = self.seconds();
        living.map(|peer| there(peer).unwrap_or(all)).min().unwrap_or(0).min(all)
    }
}

/// End of the first so many seconds.
fn end_of(start: i64, seconds: u64) -> i64 {
    start.saturating_add(i64::try_from(seconds).unwrap_or(i64::MAX).saturating_mul(SECOND_NS))
}
