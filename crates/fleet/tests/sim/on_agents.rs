//! What happens on the machines of agents.

use crate::checks;
use crate::host::Load;
use crate::network::Way;
use crate::plan::{Fault, HEALED};
use crate::world::{CenterEvent, Event, HostEvent, Message, World};
use brunt_fleet::agent::{Effect, Happening, Output};
use brunt_fleet::words::{Answer, Origin, Part, Reply, Table, Why, decode, encode, split};
use brunt_fleet::{MILLISECOND_NS, SECOND_NS};
use brunt_testkit::Random;
use std::rc::Rc;

impl World {
    /// Looks at what the load threads have sent until now.
    pub fn account(&mut self, agent: usize) {
        let host = &mut self.hosts[agent];
        if !host.is_up() {
            return;
        }
        let Some(load) = &mut host.load else { return };
        let Some(sent) = load.account(host.clock.at(self.now)) else { return };
        let is_of = |center: &crate::center::Center| center.run == load.run && center.epoch == load.epoch;
        let center = self.centers.iter().position(is_of).unwrap();
        self.truth.sends(center, agent, sent, (host.clock, self.centers[center].clock));
    }

    pub fn on_host(&mut self, agent: usize, event: HostEvent) {
        self.account(agent);
        let now = self.hosts[agent].clock.at(self.now);
        let host = &mut self.hosts[agent];
        let Some(core) = &mut host.agent else { return };
        let outputs = match event {
            HostEvent::Find { center } => {
                let (agent_id, incarnation) = (host.id.clone(), host.incarnation);
                return self.send_to_center(agent, center, Message::Found { agent: agent_id, incarnation });
            }
            HostEvent::Order { center, envelope } => {
                let held = self.random.below(30_000) as i64;
                let outputs = core.order(&envelope, now, now + held);
                let is_first = host.answered.insert((center, envelope.seq));
                for output in &outputs {
                    if let Output::Reply(reply) = output {
                        let late = self.centers[center].clock.at(self.now) - envelope.deadline_ns;
                        let is_void = is_first && late > 10 && checks::has_deadline(&envelope.order);
                        let is_refused = matches!(reply.answer, Answer::Refused(_));
                        assert!(!is_void || is_refused, "carried out {late} ns too late: {envelope:?}");
                        self.truth.answered(center, agent, &envelope.order, &reply.answer);
                    }
                }
                outputs
            }
            HostEvent::Due { number } if number == host.due => core.tick(now),
            HostEvent::LoadDue { number } if number == host.load_due => return self.tell_load(agent),
            HostEvent::Local { incarnation, load, happening } if incarnation == host.incarnation => {
                if matches!(happening, Happening::Drained { .. })
                    && host.load.as_ref().is_some_and(|own| own.number == load)
                {
                    host.load = None;
                }
                core.happened(load, happening, now)
            }
            _ => return,
        };
        self.apply(agent, outputs);
    }

    /// What the load threads tell: each second at once, the end a little later.
    fn tell_load(&mut self, agent: usize) {
        let host = &mut self.hosts[agent];
        let (now, incarnation) = (host.clock.at(self.now), host.incarnation);
        let Some(load) = &mut host.load else { return };
        let (number, drain_ns) = (load.number, load.drain_ns);
        let (told, drains) = load.tell(now);
        if drains && let Some(by) = load.ended_by() {
            host.ends.insert((load.run.clone(), load.epoch, incarnation), by);
        }
        let mut at = self.now.max(load.told_at);
        for happening in told {
            at += self.random.below(1_000_000) as i64;
            self.at(at, Event::Host(agent, HostEvent::Local { incarnation, load: number, happening }));
        }
        if drains && self.random.below(1000) >= self.plan.hanging {
            at += self.random.below(drain_ns.max(1) as u64) as i64;
            let happening = Happening::Drained { digest: "0".to_owned() };
            self.at(at, Event::Host(agent, HostEvent::Local { incarnation, load: number, happening }));
        }
        self.hosts[agent].load.iter_mut().for_each(|load| load.told_at = at);
        self.wake(agent);
    }

    /// Carries out what an agent says, or the first of it if the machine crashes.
    fn apply(&mut self, agent: usize, outputs: Vec<Output>) {
        let host = &mut self.hosts[agent];
        host.steps += 1;
        let crashes = self
            .plan
            .agent_crash
            .is_some_and(|(who, steps)| who == agent && steps == host.steps && self.now < HEALED - 4 * SECOND_NS);
        let count = if crashes { self.random.below(outputs.len() as u64 + 1) as usize } else { outputs.len() };
        for output in outputs.into_iter().take(count) {
            match output {
                Output::Reply(reply) => self.reply(agent, *reply),
                Output::Notice(notice) => {
                    if let Some(center) = self.center_of(&notice.run, notice.epoch) {
                        self.send_to_center(agent, center, Message::Notice(*notice));
                    }
                }
                Output::Effect { load, effect } => self.effect(agent, load, &effect),
            }
        }
        if crashes {
            self.crash_host(agent);
            let back = self.now + 50 * MILLISECOND_NS + self.random.below(3_000_000_000) as i64;
            self.at(back, Event::Fault(Fault::ReturnAgent(agent)));
        }
        self.wake(agent);
    }

    fn reply(&mut self, agent: usize, reply: Reply) {
        match &reply.answer {
            Answer::Accepted(status) | Answer::Renewed { status, .. } => {
                self.kinds.extend(status.why.as_ref().map(|why| match why {
                    Why::LeaseOver {} => "lease-over",
                    Why::NotDrained {} => "not-drained",
                    _ => "stopped",
                }));
            }
            _ => (),
        }
        if let Some(center) = self.center_of(&reply.run, reply.epoch) {
            self.send_to_center(agent, center, Message::Reply(reply));
        }
    }

    fn effect(&mut self, agent: usize, number: u64, effect: &Effect) {
        self.account(agent);
        let (now, calm) = (self.now, self.plan.calm);
        let fetch_ms = self.plan.prepare_ns / MILLISECOND_NS;
        let host = &mut self.hosts[agent];
        let (read, incarnation) = (host.clock.at(now), host.incarnation);
        let later = match effect {
            Effect::Prepare { run, epoch, task } => {
                assert!(host.load.is_none(), "I2: a second load: {:?}", host.load);
                assert!(task.first < task.end && task.end <= task.threads);
                self.kinds.extend((*epoch > 1).then_some("taken-over"));
                host.load = Some(Load::new(number, run.clone(), *epoch, task.drain_ns, read));
                Some((Happening::Prepared, 200.max(fetch_ms as u64)))
            }
            Effect::Connect => Some((Happening::Connected, 500)),
            Effect::Keep { second } => {
                let load = host.load.as_ref().unwrap();
                let key = (load.run.clone(), load.epoch, incarnation, *second);
                let table = table(&mut self.random);
                assert!(host.journal.insert(key, table).is_none(), "a second is measured twice");
                None
            }
            Effect::Send { from } => return self.send_seconds(agent, *from),
            Effect::Abandon => {
                let longest = if self.random.below(8) == 0 { 3_000 } else { 100 };
                Some((Happening::Drained { digest: "0".to_owned() }, longest))
            }
            Effect::Begin { .. } if self.random.below(1000) < self.plan.failing => {
                let error = "too few files".to_owned();
                Some((Happening::Failed { error }, 7_000))
            }
            Effect::Begin { .. } | Effect::Lease { .. } | Effect::CloseAt { .. } | Effect::Release => None,
        };
        let ends_after = self
            .plan
            .count_ns
            .filter(|_| matches!(effect, Effect::Begin { .. }))
            .map(|longest| MILLISECOND_NS + self.random.below(longest as u64) as i64);
        host.load.iter_mut().filter(|load| load.number == number).for_each(|load| {
            load.set(effect);
            ends_after.into_iter().for_each(|after| load.ends_after(after));
        });
        if let Some((happening, longest)) = later {
            let fails =
                !matches!(happening, Happening::Drained { .. }) && self.random.below(1000) < self.plan.failing && !calm;
            let happening =
                if fails { Happening::Failed { error: "no route to 10.0.0.9:7100".to_owned() } } else { happening };
            let at = now + MILLISECOND_NS + self.random.below(longest * 1_000_000) as i64;
            self.at(at, Event::Host(agent, HostEvent::Local { incarnation, load: number, happening }));
        }
    }

    /// Sends what the journal of the run has from a second on.
    fn send_seconds(&mut self, agent: usize, from: u64) {
        let host = &self.hosts[agent];
        let Some((run, epoch)) = host.agent.as_ref().and_then(|agent| agent.run()) else { return };
        let Some(center) = self.center_of(run, epoch) else { return };
        let (run, incarnation) = (run.to_owned(), host.incarnation);
        let seconds =
            host.journal.range((run.clone(), epoch, incarnation, from)..=(run.clone(), epoch, incarnation, u64::MAX));
        let origin = |second| Origin { run: run.clone(), epoch, agent: host.id.clone(), incarnation, second };
        let parts: Vec<Part> =
            seconds.flat_map(|(key, table)| split(&origin(key.3), &table.encode(), self.plan.part)).collect();
        parts.into_iter().for_each(|part| self.send_to_center(agent, center, Message::Part(part)));
    }

    /// Sets the next wake-ups of an agent and its load; those before are void.
    fn wake(&mut self, agent: usize) {
        let late = self.random.below(3_000_000) as i64;
        let host = &mut self.hosts[agent];
        (host.due, host.load_due) = (host.due + 1, host.load_due + 1);
        let (due, load_due, clock) = (host.due, host.load_due, host.clock);
        let load = host.load.as_ref().and_then(Load::due);
        let core = host.agent.as_ref().and_then(|agent| agent.due());
        if let Some(read) = core {
            self.at(clock.not_before(read) + late, Event::Host(agent, HostEvent::Due { number: due }));
        }
        if let Some(read) = load {
            self.at(clock.not_before(read), Event::Host(agent, HostEvent::LoadDue { number: load_due }));
        }
    }

    fn send_to_center(&mut self, agent: usize, center: usize, message: Message) {
        let message = if self.plan.as_text { through_text(message) } else { message };
        let message = Rc::new(message);
        for delay in self.network.arrivals(agent, Way::From, self.now, &mut self.random) {
            self.at(self.now + delay, Event::Center(center, CenterEvent::Message(Rc::clone(&message))));
        }
    }
}

/// A second as an agent measures it.
fn table(random: &mut Random) -> Table {
    let mut table = Table::default();
    for name in ["response", "lag", "error"].into_iter().take(1 + random.below(3) as usize) {
        table.distributions.insert(name.to_owned(), (0..4).map(|_| random.below(256) as u8).collect());
    }
    table.counters.insert("completed".to_owned(), random.below(1000));
    table
}

fn through_text(message: Message) -> Message {
    match message {
        Message::Found { .. } => message,
        Message::Reply(reply) => Message::Reply(decode(&encode(&reply).unwrap()).unwrap()),
        Message::Notice(notice) => Message::Notice(decode(&encode(&notice).unwrap()).unwrap()),
        Message::Part(part) => Message::Part(decode(&encode(&part).unwrap()).unwrap()),
    }
}
