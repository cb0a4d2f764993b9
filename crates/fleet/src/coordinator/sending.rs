//! Sends orders, repeats them, and renews leases.

use super::peer::Pending;
use super::{Coordinator, Output, Stage};
use crate::words::{Envelope, Order, Version};
use crate::{MILLISECOND_NS, lease};

/// A renewal that comes later is no sign of life: the next one has been sent.
const RENEWAL_NS: i64 = 900 * MILLISECOND_NS;

impl Coordinator {
    /// Sends an order instead of the one that is under way to this agent, and repeats it.
    pub(super) fn send(&mut self, at: usize, order: Order, every: i64, deadline: i64, now: i64) {
        self.seq += 1;
        let pending = Pending { seq: self.seq, order, sent: now, deadline, again_at: now, every };
        self.peers[at].pending = Some(pending);
        self.repeat_one(at, now);
    }

    /// Sends what is unanswered again, each after its interval.
    pub(super) fn repeat(&mut self, now: i64) {
        (0..self.peers.len()).for_each(|at| self.repeat_one(at, now));
    }

    fn repeat_one(&mut self, at: usize, now: i64) {
        let Some(pending) = &mut self.peers[at].pending else { return };
        if now < pending.again_at || now > pending.deadline {
            return;
        }
        pending.again_at = now.saturating_add(pending.every);
        let Pending { seq, order, sent, deadline, .. } = pending.clone();
        self.output(at, seq, sent, deadline, order);
    }

    /// Renews what is due: the reservation before a commit, the lease after it. An answer tells the state.
    pub(super) fn renew(&mut self, now: i64) {
        let is_held = match self.stage {
            Stage::Gather { .. }
            | Stage::GiveBack { .. }
            | Stage::Cancel { .. }
            | Stage::Release { .. }
            | Stage::Over => false,
            Stage::Reserve { .. }
            | Stage::Sync { .. }
            | Stage::Task { .. }
            | Stage::Connect { .. }
            | Stage::Arm { .. }
            | Stage::Commit
            | Stage::Run
            | Stage::Drain { .. }
            | Stage::Collect { .. } => true,
        };
        for at in 0..self.peers.len() {
            let peer = &self.peers[at];
            if is_held && peer.is_reserved && !peer.is_lost() && now >= peer.renew_at {
                let (clock, next_second) = (peer.clock.estimate(), peer.seconds.next());
                let lease_until_ns = lease::granted(now, self.committed);
                self.ask(at, Order::Renew { clock, lease_until_ns, next_second }, RENEWAL_NS, now);
            }
        }
    }

    /// Sends an order whose answer tells the clock. It is not repeated: the next one is as good.
    pub(super) fn ask(&mut self, at: usize, order: Order, answer_ns: i64, now: i64) {
        self.seq += 1;
        let seq = self.seq;
        self.peers[at].ask(seq, now);
        self.output(at, seq, now, now.saturating_add(answer_ns), order);
    }

    fn output(&mut self, at: usize, seq: u64, sent_ns: i64, deadline_ns: i64, order: Order) {
        let (run, epoch) = (self.config.run.clone(), self.config.epoch);
        let envelope = Envelope { version: Version, run, epoch, seq, sent_ns, deadline_ns, order };
        self.outputs.push(Output::Order { agent: self.peers[at].id(), envelope: Box::new(envelope) });
    }
}
