//! What the time alone changes. It is looked at before anything else is taken, so that a lease that is over stays over, also if
//! the machine has stood still and a renewal waits.

use super::session::{STOPPED_NS, TELL_NS};
use super::{Agent, Effect};
use crate::words::{Event, State, Why};

impl Agent {
    pub(super) fn advance(&mut self, now: i64) {
        while self.step(now) {}
    }

    /// Makes one change that is due; returns whether there was one.
    fn step(&mut self, now: i64) -> bool {
        let Some(session) = &mut self.session else { return false };
        session.note_begun(now);
        let living = session.living();
        match session.state {
            State::Idle => false,
            State::Reserved | State::Prepared | State::Connected => {
                let is_over = now >= session.hold;
                if is_over {
                    self.stop(Why::Expired {});
                }
                is_over
            }
            State::Armed => match (session.armed, session.committed) {
                (Some(armed), Some(_)) if now >= armed.start => {
                    session.state = State::Running;
                    true
                }
                (Some(armed), None) if now >= armed.start => {
                    self.stop(Why::NotCommitted {});
                    true
                }
                _ => false,
            },
            State::Running => self.close_if_due(now),
            State::Draining if now >= session.drain_limit() => {
                self.stop(Why::NotDrained {});
                true
            }
            State::Reporting if now >= session.reported() => {
                self.forget();
                true
            }
            State::Reporting => {
                if now >= session.told.saturating_add(TELL_NS) {
                    session.told = now;
                    let end = session.end.clone();
                    end.into_iter().for_each(|end| self.tell(Event::End(end)));
                }
                false
            }
            State::Stopped if living.is_none() && now >= session.heard.saturating_add(STOPPED_NS) => {
                self.forget();
                true
            }
            State::Draining | State::Stopped => false,
        }
    }

    fn close_if_due(&mut self, now: i64) -> bool {
        let Some(session) = &mut self.session else { return false };
        let (Some(armed), Some(committed)) = (&mut session.armed, session.committed) else { return false };
        if now < armed.close.min(committed.lease) {
            return false;
        }
        session.state = State::Draining;
        let is_lease_over = committed.lease < armed.close;
        if is_lease_over {
            // The load threads have ended by themselves. A renewal that comes now must not let them go on.
            armed.close = committed.lease;
            session.why = Some(Why::LeaseOver {});
        }
        if let Some(load) = session.living() {
            if is_lease_over {
                self.effect(load, Effect::CloseAt { close: committed.lease });
            }
            self.effect(load, Effect::Release);
        }
        true
    }

    /// Ends the run here. Its load is abandoned, and the reason is kept for the coordinator.
    pub(super) fn stop(&mut self, why: Why) {
        let Some(session) = &mut self.session else { return };
        session.state = State::Stopped;
        session.why = Some(why);
        session.waiting = None;
        self.abandon();
    }

    /// Abandons the load of the session, if there is one.
    pub(super) fn abandon(&mut self) {
        if let Some(load) = self.session.as_ref().and_then(super::Session::living)
            && self.clearing != Some(load)
        {
            self.clearing = Some(load);
            self.effect(load, Effect::Abandon);
        }
    }
}
