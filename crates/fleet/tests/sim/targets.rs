//! Runs of several coordinators with agents of their own, which begin within moments of each other: of those with the same target one is
//! made.
//!
//! Messages are late, each by a time of its own, and none is lost: an agent that does not answer a look at all is as one that is not there.

use brunt_fleet::agent::{Agent, Effect, Happening, Output as Done};
use brunt_fleet::coordinator::{Config, Coordinator, Member, Output, Rival, Verdict};
use brunt_fleet::words::{Envelope, Notice, Reply};
use brunt_fleet::{MILLISECOND_NS, SECOND_NS};
use brunt_testkit::Random;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// No start takes longer.
const END: i64 = 60 * SECOND_NS;

enum Event {
    Begin(usize),
    Tick(usize),
    Find(usize),
    /// An agent is asked which run it has.
    Look(usize, usize),
    Looked(usize, u64),
    Order(usize, usize, Box<Envelope>),
    Reply(usize, Box<Reply>),
    Notice(usize, Box<Notice>),
    Happened(usize, u64, Happening),
    AgentDue(usize),
}

struct World {
    now: i64,
    random: Random,
    /// Time and number of each event that is to come.
    due: BinaryHeap<Reverse<(i64, usize)>>,
    events: Vec<Option<Event>>,
    configs: Vec<Config>,
    cores: Vec<Option<Coordinator>>,
    agents: Vec<Agent>,
    /// What agents have answered to the last look of each coordinator.
    runs: Vec<Vec<Rival>>,
    ended: Vec<Option<Verdict>>,
}

impl World {
    /// So many runs with an agent each, or two; `target` has the target of each.
    fn new(
        seed: u64,
        runs: usize,
        target: impl Fn(usize) -> &'static str,
        is_exclusive: impl Fn(usize) -> bool,
    ) -> Self {
        let mut random = Random::new(seed);
        let mut agents = Vec::new();
        let mut configs = Vec::new();
        for run in 0..runs {
            let own = 1 + random.below(2) as usize;
            let members: Vec<Member> =
                (0..own).map(|first| Member { id: format!("agent-{run}-{first}"), first, end: first + 1 }).collect();
            agents.extend(members.iter().map(|member| Agent::new(member.id.clone(), 7)));
            configs.push(Config {
                owner: format!("owner-{run}"),
                // In no order.
                run: format!("{:x}-{run}", random.below(1 << 30)),
                epoch: 1,
                members,
                threads: own,
                targets: vec![target(run).to_owned(), format!("own-{run}")],
                is_exclusive: is_exclusive(run),
                load: serde_json::Value::Null,
                warmup_ns: 0,
                window_ns: 10 * SECOND_NS,
                ends_by_count: false,
                drain_ns: SECOND_NS,
                prepare_ns: 0,
                connect_ns: Config::CONNECT_NS,
                skew_ns: None,
                tolerate: 0,
                tries: Config::TRIES,
                seed: random.below(u64::MAX),
            });
        }
        let (cores, lists) = ((0..runs).map(|_| None).collect(), vec![Vec::new(); runs]);
        let (due, events, ended) = (BinaryHeap::new(), Vec::new(), vec![None; runs]);
        let mut world = Self { now: 0, random, due, events, configs, cores, agents, runs: lists, ended };
        let spread = [1, MILLISECOND_NS, 400 * MILLISECOND_NS, 3 * SECOND_NS][(seed % 4) as usize];
        for run in 0..runs {
            world.after(spread, Event::Begin(run));
        }
        world
    }

    /// Something happens after less than this time.
    fn after(&mut self, longest: i64, event: Event) {
        let at = self.now + self.random.below(longest.max(1) as u64) as i64;
        self.due.push(Reverse((at, self.events.len())));
        self.events.push(Some(event));
    }

    /// A message arrives, mostly soon.
    fn send(&mut self, event: Event) {
        let longest = if self.random.below(10) == 0 { 300 * MILLISECOND_NS } else { 5 * MILLISECOND_NS };
        self.after(longest, event);
    }

    fn run(mut self) -> Vec<Verdict> {
        while let Some(Reverse((at, number))) = self.due.pop() {
            assert!(at < END, "a start takes too long");
            self.now = at;
            let event = self.events[number].take().unwrap();
            self.happen(event);
            if self.ended.iter().all(Option::is_some) {
                break;
            }
        }
        self.ended.into_iter().map(Option::unwrap).collect()
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Begin(run) => {
                self.cores[run] = Some(Coordinator::new(self.configs[run].clone(), now));
                self.happen(Event::Tick(run));
            }
            Event::Tick(run) => {
                self.on_core(run, |core| core.tick(now));
                self.after(10 * MILLISECOND_NS, Event::Tick(run));
            }
            Event::Find(run) => {
                for member in self.configs[run].members.clone() {
                    self.on_core(run, |core| core.found(&member.id, 7, now));
                }
            }
            Event::Look(run, agent) => {
                let held = self.agents[agent].held(now);
                self.runs[run].extend(held.map(|held| Rival {
                    run: held.run,
                    owner: held.owner,
                    targets: held.targets,
                    is_described: held.is_described,
                    left_ns: held.left_ns,
                }));
            }
            Event::Looked(run, number) => {
                let runs = std::mem::take(&mut self.runs[run]);
                self.on_core(run, |core| core.looked(number, &runs, now));
            }
            Event::Order(run, agent, envelope) => {
                let done = self.agents[agent].order(&envelope, now, now);
                self.on_agent(run, agent, done);
            }
            Event::Reply(run, reply) => self.on_core(run, |core| core.reply(&reply, now)),
            Event::Notice(run, notice) => self.on_core(run, |core| core.notice(&notice, now)),
            Event::Happened(agent, load, happening) => {
                let done = self.agents[agent].happened(load, happening, now);
                self.on_agent(self.run_of(agent), agent, done);
            }
            Event::AgentDue(agent) => {
                let done = self.agents[agent].tick(now);
                self.on_agent(self.run_of(agent), agent, done);
            }
        }
    }

    fn run_of(&self, agent: usize) -> usize {
        let id = self.agents[agent].id();
        self.configs.iter().position(|config| config.members.iter().any(|member| member.id == id)).unwrap()
    }

    fn on_core(&mut self, run: usize, work: impl FnOnce(&mut Coordinator) -> Vec<Output>) {
        if self.ended[run].is_some() {
            return;
        }
        let Some(core) = &mut self.cores[run] else { return };
        let outputs = work(core);
        if core.times().is_some() {
            // It has begun: what follows is of no interest here.
            self.ended[run] = Some(Verdict::Ok);
        }
        for output in outputs {
            match output {
                Output::Find => self.send(Event::Find(run)),
                Output::Look { number } => {
                    self.runs[run].clear();
                    (0..self.agents.len()).for_each(|agent| self.after(100 * MILLISECOND_NS, Event::Look(run, agent)));
                    let at = self.now + 400 * MILLISECOND_NS;
                    self.due.push(Reverse((at, self.events.len())));
                    self.events.push(Some(Event::Looked(run, number)));
                }
                Output::Order { agent, envelope } => {
                    let agent = self.agents.iter().position(|known| known.id() == agent).unwrap();
                    self.send(Event::Order(run, agent, envelope));
                }
                Output::Outcome(outcome) => self.ended[run] = Some(outcome.verdict),
            }
        }
    }

    fn on_agent(&mut self, run: usize, agent: usize, done: Vec<Done>) {
        for output in done {
            match output {
                Done::Reply(reply) => self.send(Event::Reply(run, reply)),
                Done::Notice(notice) => self.send(Event::Notice(run, notice)),
                Done::Effect { load, effect } => {
                    let happening = match effect {
                        Effect::Prepare { .. } => Happening::Prepared,
                        Effect::Connect => Happening::Connected,
                        Effect::Abandon => Happening::Drained { digest: String::new() },
                        _ => continue,
                    };
                    self.after(20 * MILLISECOND_NS, Event::Happened(agent, load, happening));
                }
            }
        }
        if let Some(due) = self.agents[agent].due() {
            self.due.push(Reverse((due.max(self.now + 1), self.events.len())));
            self.events.push(Some(Event::AgentDue(agent)));
        }
    }
}

fn seeds() -> std::ops::Range<u64> {
    0..std::env::var("BRUNT_SEEDS").ok().and_then(|count| count.parse().ok()).unwrap_or(2000u64)
}

#[test]
fn of_runs_with_the_same_target_one_is_made_however_near_they_begin() {
    for seed in seeds() {
        let runs = 2 + (seed % 3) as usize;
        let ended = World::new(seed, runs, |_| "10.0.0.9:8080", |_| true).run();
        let made = ended.iter().filter(|verdict| **verdict == Verdict::Ok).count();
        let lost = ended
            .iter()
            .filter(|verdict| matches!(verdict, Verdict::Rival(rival) if rival.targets == ["10.0.0.9:8080"]));
        assert_eq!((made, lost.count()), (1, runs - 1), "seed {seed}: {ended:?}");
    }
}

#[test]
fn runs_with_other_targets_or_that_are_allowed_are_all_made() {
    for seed in seeds().step_by(10) {
        let other = |run: usize| ["10.0.0.9:8080", "10.0.0.9:8081", "10.0.0.8:8080"][run];
        let ended = World::new(seed, 3, other, |_| true).run();
        assert!(ended.iter().all(|verdict| *verdict == Verdict::Ok), "seed {seed}: {ended:?}");
        let ended = World::new(seed, 3, |_| "10.0.0.9:8080", |_| false).run();
        assert!(ended.iter().all(|verdict| *verdict == Verdict::Ok), "seed {seed}: {ended:?}");
    }
}
