//! What the answers of agents say.

use super::outcome::{Lost, Verdict};
use super::peer::Pending;
use super::{Coordinator, Stage};
use crate::words::{Answer, Order, Refusal, State};

impl Coordinator {
    /// Takes the answer to an order of this coordinator. Those to orders that are void are left out, but for the state they tell.
    pub(super) fn on_answer(&mut self, at: usize, seq: u64, answer: &Answer, now: i64) {
        let is_pending = self.peers[at].pending.as_ref().is_some_and(|pending| pending.seq == seq);
        if is_pending {
            let Some(pending) = self.peers[at].pending.take() else { return };
            return self.on_acknowledged(at, &pending, answer, now);
        }
        let peer = &mut self.peers[at];
        let asked = peer.has_asked(seq);
        match answer {
            Answer::Synced(times) => peer.exchange(seq, Some(times), now),
            Answer::Renewed { times, status } => {
                peer.exchange(seq, Some(times), now);
                if peer.is_reserved {
                    peer.learn(status);
                }
            }
            Answer::Refused(refusal) => {
                peer.exchange(seq, None, now);
                if asked && *refusal == (Refusal::Unknown {}) {
                    self.lose(at, Lost::Unknown, now);
                }
            }
            Answer::Granted {} | Answer::Busy { .. } | Answer::Accepted(_) => (),
        }
    }

    fn on_acknowledged(&mut self, at: usize, pending: &Pending, answer: &Answer, now: i64) {
        let peer = &mut self.peers[at];
        match (&pending.order, answer) {
            (Order::Reserve { .. }, Answer::Granted {}) => {
                (peer.is_reserved, peer.renew_at) = (true, now);
            }
            (Order::Reserve { .. }, Answer::Busy { owner, run, .. }) => {
                let verdict = Verdict::Busy { agent: peer.id(), owner: owner.clone(), run: run.clone() };
                self.on_busy(verdict, now);
            }
            (Order::Release {}, _) => peer.may_hold = false,
            (Order::Close { .. }, Answer::Accepted(status)) => {
                peer.learn(status);
                let has_ended = matches!(status.state, State::Stopped | State::Idle);
                peer.is_cancelled |= has_ended && !status.begun;
            }
            // It has no such run: what it was committed to is not known any more.
            (Order::Close { .. }, _) => (),
            (order, Answer::Accepted(status)) => {
                peer.is_committed |= matches!(order, Order::Commit { .. });
                peer.learn(status);
            }
            (order, Answer::Refused(refusal)) => {
                let name = match order {
                    Order::Reserve { .. } => "reserve",
                    Order::Task(_) => "task",
                    Order::Arm(_) => "arm",
                    _ => "commit",
                };
                let verdict = Verdict::Refused { agent: peer.id(), order: name, refusal: refusal.clone() };
                self.refused(verdict, now);
            }
            _ => (),
        }
    }

    fn refused(&mut self, verdict: Verdict, now: i64) {
        match self.stage {
            Stage::Commit => self.cancel(verdict, now),
            _ => self.give_up(verdict, now),
        }
    }
}
