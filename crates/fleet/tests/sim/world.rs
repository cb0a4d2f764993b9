//! One history: events in the order of true time.

use crate::center::Center;
use crate::checks::{self, Truth};
use crate::host::Host;
use crate::network::Network;
use crate::plan::{Fault, HEALED, Plan};
use crate::queue::Queue;
use brunt_fleet::SECOND_NS;
use brunt_fleet::agent::{Agent, Happening};
use brunt_fleet::coordinator::Verdict;
use brunt_fleet::words::{Envelope, Notice, Part, Reply, State};
use brunt_testkit::Random;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;

/// I5: after so long without faults and coordinators all agents are idle; clocks drift a little meanwhile.
const IDLE_NS: i64 = 61 * SECOND_NS;
/// No history has as many events.
const EVENTS: u64 = 1_000_000;
/// No coordinator takes longer.
const END_NS: i64 = 240 * SECOND_NS;

pub struct History {
    pub digest: u64,
    /// What it is an example of.
    pub kinds: Vec<&'static str>,
}

#[derive(Debug)]
pub enum Event {
    /// On the machine of an agent.
    Host(usize, HostEvent),
    /// At a coordinator.
    Center(usize, CenterEvent),
    Fault(Fault),
    NewCenter {
        owner: &'static str,
        run: &'static str,
        epoch: u64,
        crash_after: Option<u64>,
    },
}

#[derive(Debug, Clone)]
pub enum HostEvent {
    /// A coordinator asks which agents are there.
    Find {
        center: usize,
    },
    Order {
        center: usize,
        envelope: Rc<Envelope>,
    },
    /// The agent is due; void unless the number is the last.
    Due {
        number: u64,
    },
    /// So are its load threads.
    LoadDue {
        number: u64,
    },
    /// Something of a load of an incarnation.
    Local {
        incarnation: u64,
        load: u64,
        happening: Happening,
    },
}

#[derive(Debug)]
pub enum CenterEvent {
    Message(Rc<Message>),
    Due { number: u64 },
}

#[derive(Debug, Clone)]
pub enum Message {
    Found { agent: String, incarnation: u64 },
    Reply(Reply),
    Notice(Notice),
    Part(Part),
}

pub struct World {
    pub now: i64,
    pub random: Random,
    pub plan: Plan,
    pub network: Network,
    pub hosts: Vec<Host>,
    pub centers: Vec<Center>,
    pub truth: Truth,
    pub kinds: Vec<&'static str>,
    queue: Queue<Event>,
    are_centers_stopped: bool,
    /// What waits for them.
    waiting: Vec<(usize, CenterEvent)>,
}

pub fn run(seed: u64) -> History {
    let mut random = Random::new(seed.wrapping_add(0x51ed));
    let plan = Plan::new(seed, &mut random);
    let mut world = World::new(plan, random);
    world.run();
    world.end()
}

impl World {
    fn new(plan: Plan, random: Random) -> Self {
        let host = |(at, clock): (usize, &_)| Host::new(format!("a{at}"), *clock, at as u64 * 100);
        let mut world = Self {
            now: 0,
            random,
            network: Network::new(plan.quality, plan.agents.len()),
            hosts: plan.agents.iter().enumerate().map(host).collect(),
            centers: Vec::new(),
            truth: Truth::default(),
            kinds: Vec::new(),
            queue: Queue::new(),
            are_centers_stopped: false,
            waiting: Vec::new(),
            plan,
        };
        let crash_after = world.plan.crash.map(|(steps, _)| steps);
        world.at(0, Event::NewCenter { owner: "alice", run: "r1", epoch: 1, crash_after });
        world.plan.faults.clone().into_iter().for_each(|(at, fault)| world.at(at, Event::Fault(fault)));
        world
    }

    pub fn at(&mut self, time: i64, event: Event) {
        self.queue.add(time.max(self.now), event);
    }

    fn run(&mut self) {
        let is_over = |center: &Center| center.core.is_none() || center.ended.is_some();
        while let Some((time, event)) = self.queue.next() {
            let end = match self.centers.iter().all(is_over) && !self.centers.is_empty() {
                true => self.centers.iter().filter_map(|center| center.ended).fold(HEALED, i64::max) + IDLE_NS,
                false => END_NS,
            };
            if time > end {
                break;
            }
            assert!(self.queue.added() < EVENTS, "events without end");
            self.now = time;
            self.handle(event);
        }
        let running: Vec<&str> =
            self.centers.iter().filter(|center| !is_over(center)).map(|center| center.run.as_str()).collect();
        assert!(running.is_empty(), "no outcome of {running:?} after {} s", END_NS / SECOND_NS);
        for host in &self.hosts {
            let status = host.agent.as_ref().map(Agent::status);
            assert!(
                status.as_ref().is_some_and(|status| status.state == State::Idle),
                "I5: agent {}: {status:?}",
                host.id
            );
        }
    }

    fn handle(&mut self, event: Event) {
        match event {
            Event::Host(agent, event) => {
                let host = &mut self.hosts[agent];
                match (&host.agent, host.is_stopped) {
                    (None, _) => (),
                    (_, true) => host.waiting.push(event),
                    (_, false) => self.on_host(agent, event),
                }
            }
            Event::Center(center, event) if self.are_centers_stopped => self.waiting.push((center, event)),
            Event::Center(center, event) => self.on_center(center, event),
            Event::Fault(fault) => self.fault(fault),
            Event::NewCenter { owner, run, epoch, crash_after } => self.new_center(owner, run, epoch, crash_after),
        }
    }

    fn fault(&mut self, fault: Fault) {
        match fault {
            Fault::Cut { agent, to, from } => self.network.cut(agent, to, from),
            Fault::Heal { agent } => self.network.cut(agent, false, false),
            Fault::StopAgent(agent) => {
                self.account(agent);
                self.hosts[agent].is_stopped = true;
            }
            Fault::ContinueAgent(agent) => self.go_on(agent),
            Fault::CrashAgent(agent) => self.crash_host(agent),
            Fault::ReturnAgent(agent) => {
                let host = &mut self.hosts[agent];
                if host.agent.is_none() {
                    host.incarnation += 1;
                    host.agent = Some(Agent::new(host.id.clone(), host.incarnation));
                }
            }
            Fault::StopCenters => self.are_centers_stopped = true,
            Fault::ContinueCenters => {
                self.are_centers_stopped = false;
                std::mem::take(&mut self.waiting).into_iter().for_each(|(center, event)| self.on_center(center, event));
            }
            Fault::Interrupt => {
                let clock = self.plan.center;
                let core = self
                    .centers
                    .first_mut()
                    .filter(|_| !self.are_centers_stopped)
                    .and_then(|center| center.core.as_mut());
                if let Some(core) = core {
                    let outputs = core.interrupt(clock.at(self.now));
                    self.apply_center(0, outputs);
                }
            }
            Fault::Rival => self.new_center("bob", "r2", 1, None),
            Fault::Twin => self.new_center("alice", "r1", 3, None),
        }
    }

    fn go_on(&mut self, agent: usize) {
        let host = &mut self.hosts[agent];
        let now = host.clock.at(self.now);
        if std::mem::replace(&mut host.is_stopped, false) {
            host.load.iter_mut().for_each(|load| load.pass_over(now));
            let waiting = std::mem::take(&mut host.waiting);
            waiting.into_iter().for_each(|event| self.handle(Event::Host(agent, event)));
        }
    }

    pub fn crash_host(&mut self, agent: usize) {
        self.account(agent);
        let host = &mut self.hosts[agent];
        (host.agent, host.load, host.is_stopped) = (None, None, false);
        (host.due, host.load_due) = (host.due + 1, host.load_due + 1);
        host.waiting.clear();
        host.answered.clear();
        self.kinds.push("crashed");
    }

    pub fn center_of(&self, run: &str, epoch: u64) -> Option<usize> {
        self.centers.iter().position(|center| center.run == run && center.epoch == epoch)
    }

    fn end(mut self) -> History {
        let mut digest = DefaultHasher::new();
        for (at, center) in self.centers.iter().enumerate() {
            let Some(outcome) = &center.outcome else { continue };
            if checks::starts(at, outcome, &self.truth, &self.hosts) {
                self.kinds.push("some-started");
            }
            self.kinds.push(match outcome.verdict {
                Verdict::Ok => "ok",
                Verdict::Interrupted => "interrupted",
                Verdict::Tolerated { .. } => "tolerated",
                Verdict::AgentLost { .. } => "agent-lost",
                Verdict::NoAgent => "no-agent",
                Verdict::Busy { .. } => "busy",
                Verdict::NoAnswer { .. } => "no-answer",
                Verdict::Refused { .. } => "refused",
                Verdict::Failed { .. } => "failed",
                Verdict::ClockUncertain { .. } => "clock",
                Verdict::NotCommitted { .. } => "not-committed",
                Verdict::Rival(_) => unreachable!("there is no target"),
            });
            format!("{outcome:?}").hash(&mut digest);
        }
        (self.now, self.queue.added()).hash(&mut digest);
        self.kinds.sort_unstable();
        self.kinds.dedup();
        History { digest: digest.finish(), kinds: self.kinds }
    }
}
