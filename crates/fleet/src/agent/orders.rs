//! What each order does.

use super::seen::{Met, Seen};
use super::session::{Armed, Committed, Session};
use super::{Agent, Effect, Past};
use crate::words::{Answer, Arm, Envelope, Order, Refusal, State, Status, Task, Times, Why};
use crate::{SECOND_NS, lease, sync::Estimate};

/// So long after its end a second that the coordinator lacks counts as lost on its way.
const UNDER_WAY_NS: i64 = 3 * SECOND_NS / 2;
/// Between two tries to send seconds again.
const AGAIN_NS: i64 = SECOND_NS / 2;

impl Agent {
    pub(super) fn answer(&mut self, envelope: &Envelope, arrived: i64, now: i64) -> Answer {
        let is_beat = envelope.order.is_beat();
        if !self.session.as_ref().is_some_and(|session| session.is_of(envelope)) {
            let answer = self.answer_without(envelope, arrived, now);
            self.session.iter_mut().filter(|session| session.is_of(envelope)).for_each(|session| {
                session.seen.keep(envelope.seq, is_beat, &answer);
            });
            return answer;
        }
        let met = self.session.as_ref().map(|session| session.seen.meet(envelope.seq, is_beat));
        let answer = match met {
            Some(Met::Again(answer)) => return answer,
            Some(Met::Old) => return self.refuse(Refusal::Old {}),
            _ => self.obey(envelope, arrived, now),
        };
        match &mut self.session {
            Some(session) => session.seen.keep(envelope.seq, is_beat, &answer),
            // A release: the run is one of the past.
            None => self.past_of(envelope).seen.keep(envelope.seq, is_beat, &answer),
        }
        answer
    }

    fn refuse(&mut self, refusal: Refusal) -> Answer {
        self.count(&refusal);
        Answer::Refused(refusal)
    }

    fn accept(&self) -> Answer {
        Answer::Accepted(Box::new(self.status()))
    }

    /// An order of a run that the agent has not.
    fn answer_without(&mut self, envelope: &Envelope, arrived: i64, now: i64) -> Answer {
        match &envelope.order {
            Order::Reserve { owner, targets } => self.reserve(envelope, (owner, targets), arrived, now),
            Order::Release {} => {
                let answer = Answer::Accepted(Box::new(Status::idle(self.refusals.total())));
                self.past_of(envelope).seen.keep(envelope.seq, false, &answer);
                answer
            }
            _ => self.refuse(Refusal::Unknown {}),
        }
    }

    /// What is remembered of the order's run, from now on if nothing was: orders that were sent before a release and come after
    /// it are old, also if the release is all that arrived.
    fn past_of(&mut self, envelope: &Envelope) -> &mut Past {
        let is_of = |past: &Past| envelope.is_of(&past.run, past.epoch);
        let known = self.past.iter().position(is_of);
        let place = known.unwrap_or_else(|| {
            let (run, epoch) = (envelope.run.clone(), envelope.epoch);
            self.remember(Past { owner: String::new(), run, epoch, seen: Seen::default() });
            self.past.len() - 1
        });
        &mut self.past[place]
    }

    fn reserve(&mut self, envelope: &Envelope, (owner, targets): (&str, &[String]), arrived: i64, now: i64) -> Answer {
        let is_of = |past: &&Past| envelope.is_of(&past.run, past.epoch);
        let seen = self.past.iter().find(is_of).map_or_else(Seen::default, |past| past.seen.clone());
        let is_superseded = self.past.iter().any(|past| past.owner == owner && past.epoch > envelope.epoch);
        if is_superseded || !seen.is_above(envelope.seq) {
            return self.refuse(Refusal::Old {});
        }
        if let Some(session) = &self.session {
            let takes_over = session.owner == owner && envelope.epoch > session.epoch;
            if session.owner == owner && envelope.epoch < session.epoch {
                return self.refuse(Refusal::Old {});
            }
            if !takes_over && !session.is_over(now) {
                let left_ns = session.left(now);
                return Answer::Busy { owner: session.owner.clone(), run: session.run.clone(), left_ns };
            }
            self.stop(Why::TakenOver {});
            self.forget();
        }
        self.session = Some(Session::new(envelope, owner, targets, seen, arrived));
        Answer::Granted {}
    }

    /// An order of this run that was not there before.
    fn obey(&mut self, envelope: &Envelope, arrived: i64, now: i64) -> Answer {
        let Some(session) = &mut self.session else { return self.refuse(Refusal::Unknown {}) };
        if !envelope.order.only_ends() && session.is_late(envelope, arrived) {
            return self.refuse(Refusal::Late {});
        }
        session.heard = now;
        session.lag = session.lag.min(arrived.saturating_sub(envelope.sent_ns));
        let times = Times { received_ns: arrived, answered_ns: now };
        match &envelope.order {
            Order::Reserve { .. } if session.state == State::Reserved && session.load.is_none() => {
                session.hold = arrived.saturating_add(lease::RESERVED_NS);
                Answer::Granted {}
            }
            Order::Reserve { .. } => {
                let state = session.state;
                self.refuse(Refusal::State(state))
            }
            Order::Sync {} => Answer::Synced(times),
            Order::Task(task) => self.task(task),
            Order::Arm(arm) => self.arm(arm, now),
            Order::Commit { lease_until_ns } => self.commit(envelope.seq, *lease_until_ns, now),
            Order::Renew { clock, lease_until_ns, next_second } => {
                match self.renew(envelope.seq, *clock, *lease_until_ns, arrived) {
                    Ok(()) => {
                        self.send_again(*next_second, now);
                        Answer::Renewed { times, status: Box::new(self.status()) }
                    }
                    Err(refusal) => self.refuse(refusal),
                }
            }
            Order::Close { at_ns } => self.close(*at_ns, now),
            Order::Release {} => self.release(),
        }
    }

    fn task(&mut self, task: &Task) -> Answer {
        let Some(session) = &mut self.session else { return self.refuse(Refusal::Unknown {}) };
        if session.state != State::Reserved || session.load.is_some() || session.waiting.is_some() {
            let state = session.state;
            return self.refuse(Refusal::State(state));
        }
        session.clock = Some(task.clock);
        session.drain_ns = task.drain_ns;
        session.waiting = Some(Box::new(task.clone()));
        self.prepare();
        self.accept()
    }

    fn arm(&mut self, arm: &Arm, now: i64) -> Answer {
        let Some(session) = &mut self.session else { return self.refuse(Refusal::Unknown {}) };
        let (state, armed) = (session.state, Armed::new(arm));
        let is_possible = now < armed.start && armed.start <= armed.open && armed.open <= armed.close;
        if !is_possible || !matches!(state, State::Connected | State::Armed) || session.committed.is_some() {
            return self.refuse(Refusal::State(state));
        }
        session.clock = Some(arm.clock);
        session.armed = Some(armed);
        session.state = State::Armed;
        self.accept()
    }

    fn commit(&mut self, seq: u64, until: i64, now: i64) -> Answer {
        let Some(session) = &mut self.session else { return self.refuse(Refusal::Unknown {}) };
        let (state, load) = (session.state, session.living());
        let (Some(armed), Some(load), None, State::Armed) = (session.armed, load, session.committed, state) else {
            return self.refuse(Refusal::State(state));
        };
        let clock = session.clock.unwrap_or(armed.clock);
        let until = lease::on_agent(until, &clock, armed.start.saturating_add(lease::RUNNING_NS));
        if now >= armed.start {
            return self.refuse(Refusal::Late {});
        }
        session.committed = Some(Committed { seq, lease: until });
        let Armed { start, open, close, .. } = armed;
        self.effect(load, Effect::Lease { until });
        self.effect(load, Effect::Begin { start, open, close });
        self.accept()
    }

    /// Before a commit the reservation holds longer; after it the lease does, if it was granted after the commit.
    fn renew(&mut self, seq: u64, clock: Option<Estimate>, until: i64, arrived: i64) -> Result<(), Refusal> {
        let Some(session) = &mut self.session else { return Err(Refusal::Unknown {}) };
        let Some(committed) = session.committed else {
            session.clock = clock.or(session.clock);
            let longest = arrived.saturating_add(lease::RESERVED_NS);
            let until = session.clock.map_or(longest, |clock| lease::on_agent(until, &clock, longest));
            session.hold = session.hold.max(until);
            return Ok(());
        };
        if seq < committed.seq {
            return Err(Refusal::Old {});
        }
        session.clock = clock.or(session.clock);
        let (Some(clock), Some(armed), Some(load)) = (session.clock, session.armed, session.living()) else {
            return Ok(());
        };
        let longest = arrived.max(armed.start).saturating_add(lease::RUNNING_NS);
        let until = lease::on_agent(until, &clock, longest);
        if matches!(session.state, State::Armed | State::Running) && until > committed.lease {
            session.committed = Some(Committed { lease: until, ..committed });
            self.effect(load, Effect::Lease { until });
        }
        Ok(())
    }

    /// Sends again what the coordinator lacks, if it cannot be under way any more.
    fn send_again(&mut self, next: u64, now: i64) {
        let Some(session) = &mut self.session else { return };
        let (Some(load), Some(armed)) = (session.load, session.armed) else { return };
        let ended = armed.start.saturating_add((next as i64).saturating_add(1).saturating_mul(SECOND_NS));
        let is_lost = session.state == State::Reporting || now >= ended.saturating_add(UNDER_WAY_NS);
        let is_soon = session.sent_again.is_some_and(|last| now < last.saturating_add(AGAIN_NS));
        if next < session.seconds && is_lost && !is_soon {
            session.sent_again = Some(now);
            self.effect(load, Effect::Send { from: next });
        }
    }

    fn close(&mut self, at: i64, now: i64) -> Answer {
        let Some(session) = &mut self.session else { return self.refuse(Refusal::Unknown {}) };
        let (living, committed) = (session.living(), session.committed.is_some());
        match (session.state, &mut session.armed) {
            (State::Armed | State::Running, Some(armed)) if committed => {
                let close = armed.clock.agent(at);
                let is_cancelled = session.state == State::Armed && close <= armed.start;
                if is_cancelled {
                    self.stop(Why::Closed {});
                } else if close < armed.close {
                    (armed.close, armed.open) = (close, armed.open.min(close));
                    session.why = Some(Why::Closed {});
                    living.into_iter().for_each(|load| self.effect(load, Effect::CloseAt { close }));
                }
            }
            (State::Reserved | State::Prepared | State::Connected | State::Armed, _) => self.stop(Why::Closed {}),
            _ => (),
        }
        self.advance(now);
        self.accept()
    }

    fn release(&mut self) -> Answer {
        if self.session.as_ref().is_some_and(|session| session.living().is_some()) {
            self.stop(Why::Released {});
        }
        let answer = self.accept();
        // A load that is being abandoned holds the next one back, not the agent.
        self.forget();
        answer
    }
}
