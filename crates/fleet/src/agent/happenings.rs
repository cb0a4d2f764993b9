//! What happens to the load.

use super::{Agent, Effect, Happening};
use crate::words::{End, Event, State, Why};

impl Agent {
    pub(super) fn take(&mut self, load: u64, happening: Happening, now: i64) {
        if self.clearing == Some(load) {
            if matches!(happening, Happening::Drained { .. }) {
                self.cleared(load);
            }
            return;
        }
        let Some(session) = self.session.as_mut().filter(|session| session.living() == Some(load)) else { return };
        match (happening, session.state) {
            (Happening::Prepared, State::Reserved) => {
                session.state = State::Prepared;
                self.effect(load, Effect::Connect);
                self.tell(Event::Connecting { opened: 0 });
            }
            (Happening::Connecting { opened }, State::Prepared) => self.tell(Event::Connecting { opened }),
            (Happening::Connected, State::Prepared) => {
                session.state = State::Connected;
                self.tell(Event::Ready {});
            }
            (Happening::FirstSend { at }, _) => session.first_send = session.first_send.or(Some(at)),
            (Happening::Second { second }, State::Running | State::Draining) if second == session.seconds => {
                session.seconds += 1;
                self.effect(load, Effect::Keep { second });
                self.effect(load, Effect::Send { from: second });
            }
            (Happening::Drained { digest }, State::Running | State::Draining) => self.report(digest, now),
            (Happening::Drained { .. }, _) => {
                session.is_gone = true;
                self.fail("the load ended before its start".to_owned());
            }
            (Happening::Failed { error }, _) => self.fail(error),
            _ => (),
        }
    }

    pub(super) fn fail(&mut self, error: String) {
        self.tell(Event::Failed { error: error.clone() });
        self.stop(Why::Failed { error });
    }

    /// All is measured.
    fn report(&mut self, digest: String, now: i64) {
        let Some(session) = &mut self.session else { return };
        session.is_gone = true;
        session.state = State::Reporting;
        session.told = now;
        let (seconds, first_send_ns, why) = (session.seconds, session.first_send, session.why.clone());
        let end = End { seconds, first_send_ns, why, digest };
        session.end = Some(end.clone());
        self.tell(Event::End(end));
    }

    /// An abandoned load is gone: the next one may be prepared.
    fn cleared(&mut self, load: u64) {
        self.clearing = None;
        if let Some(session) = self.session.as_mut() {
            session.is_gone |= session.load == Some(load);
        }
        self.prepare();
    }

    /// Prepares the load that waits, unless another one is still there.
    pub(super) fn prepare(&mut self) {
        let Some(session) = self.session.as_mut().filter(|_| self.clearing.is_none()) else { return };
        let Some(task) = session.waiting.take() else { return };
        self.loads += 1;
        let load = self.loads;
        session.load = Some(load);
        let (run, epoch) = (session.run.clone(), session.epoch);
        self.effect(load, Effect::Prepare { run, epoch, task });
    }
}
