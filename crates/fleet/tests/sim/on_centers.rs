//! What happens at the coordinators.

use crate::center::Center;
use crate::checks;
use crate::host::Host;
use crate::network::Way;
use crate::plan::{FAULTS_END, HEALED};
use crate::world::{CenterEvent, Event, HostEvent, Message, World};
use brunt_fleet::coordinator::{AgentOutcome, Config, Coordinator, Member, Outcome, Output, Verdict};
use brunt_fleet::words::{Order, decode, encode};
use brunt_fleet::{MILLISECOND_NS, SECOND_NS};
use std::rc::Rc;

/// A run that nothing disturbs but a coordinator that stands still has its outcome so soon after its close.
const LATEST_NS: i64 = 20 * SECOND_NS;

impl World {
    pub fn new_center(&mut self, owner: &str, run: &str, epoch: u64, crash_after: Option<u64>) {
        let count = self.hosts.len();
        let threads = count + self.random.below(4) as usize;
        let member = |(number, host): (usize, &Host)| Member {
            id: host.id.clone(),
            first: number * threads / count,
            end: (number + 1) * threads / count,
        };
        let config = Config {
            owner: owner.to_owned(),
            run: run.to_owned(),
            epoch,
            members: self.hosts.iter().enumerate().map(member).rev().collect(),
            threads,
            // Histories of these are in `targets`.
            targets: Vec::new(),
            is_exclusive: true,
            load: serde_json::json!({ "rate": 1000 }),
            warmup_ns: self.plan.warmup_ns,
            window_ns: self.plan.window_ns,
            ends_by_count: self.plan.count_ns.is_some(),
            drain_ns: self.plan.drain_ns,
            prepare_ns: self.plan.prepare_ns,
            connect_ns: Config::CONNECT_NS,
            skew_ns: self.plan.skew_ns,
            tolerate: self.plan.tolerate,
            tries: Config::TRIES,
            seed: self.random.below(u64::MAX),
        };
        let clock = self.plan.center;
        let mut center = Center::new(Coordinator::new(config, clock.at(self.now)), clock, run, epoch, crash_after);
        center.is_rival = owner != "alice" || epoch > 2;
        self.centers.push(center);
        let number = self.centers.len() - 1;
        self.at(self.now, Event::Center(number, CenterEvent::Due { number: 0 }));
    }

    pub fn on_center(&mut self, at: usize, event: CenterEvent) {
        let center = &mut self.centers[at];
        let now = center.clock.at(self.now);
        let Some(core) = &mut center.core else { return };
        let outputs = match event {
            CenterEvent::Due { number } if number == center.due => {
                let outputs = core.tick(now);
                self.kinds.extend(core.late(now).first().map(|_| "late"));
                outputs
            }
            CenterEvent::Message(message) => match &*message {
                Message::Found { agent, incarnation } => core.found(agent, *incarnation, now),
                Message::Reply(reply) => core.reply(reply, now),
                Message::Notice(notice) => core.notice(notice, now),
                Message::Part(part) => match center.assembler.take(part.clone()).unwrap() {
                    None => return,
                    Some(whole) => {
                        let (counts, outputs) = core.second(&whole.agent, whole.incarnation, whole.second, now);
                        if counts {
                            let key = (whole.agent, whole.incarnation, whole.second);
                            assert_eq!(center.counted.insert(key, whole.table), None, "counted twice");
                        }
                        outputs
                    }
                },
            },
            CenterEvent::Due { .. } => return,
        };
        self.apply_center(at, outputs);
    }

    pub fn apply_center(&mut self, at: usize, outputs: Vec<Output>) {
        let center = &mut self.centers[at];
        center.steps += 1;
        let crashes =
            center.crash_after == Some(center.steps) && center.ended.is_none() && self.now < HEALED - 4 * SECOND_NS;
        let count = if crashes { self.random.below(outputs.len() as u64 + 1) as usize } else { outputs.len() };
        for output in outputs.into_iter().take(count) {
            match output {
                Output::Find => {
                    (0..self.hosts.len()).for_each(|agent| self.send_to_host(agent, &HostEvent::Find { center: at }))
                }
                Output::Look { .. } => unreachable!("there is no target"),
                Output::Order { agent, envelope } => {
                    let agent = self.hosts.iter().position(|host| host.id == agent).unwrap();
                    self.account(agent);
                    let clocks = (self.hosts[agent].clock, self.centers[at].clock);
                    if matches!(envelope.order, Order::Commit { .. }) {
                        let faults = std::mem::take(&mut self.plan.commit_faults);
                        let due = |at: i64| (self.now + at).min(FAULTS_END);
                        let faults: Vec<_> = faults.into_iter().map(|(at, fault)| (due(at), fault)).collect();
                        faults.into_iter().for_each(|(at, fault)| self.at(at, Event::Fault(fault)));
                    }
                    self.truth.ordered(at, agent, &envelope.order, clocks, self.now);
                    let envelope =
                        if self.plan.as_text { decode(&encode(&*envelope).unwrap()).unwrap() } else { *envelope };
                    self.send_to_host(agent, &HostEvent::Order { center: at, envelope: Rc::new(envelope) });
                }
                Output::Outcome(outcome) => self.on_outcome(at, *outcome),
            }
        }
        let center = &mut self.centers[at];
        if crashes && center.ended.is_none() {
            center.core = None;
            self.kinds.push("crashed");
            if let Some((_, Some(away))) = self.plan.crash {
                let restart = Event::NewCenter { owner: "alice", run: "r1", epoch: 2, crash_after: None };
                self.at(self.now + away, restart);
            }
            return;
        }
        center.due += 1;
        if let Some(read) = center.core.as_ref().and_then(Coordinator::due) {
            let (time, number) = (center.clock.not_before(read), center.due);
            self.at(time, Event::Center(at, CenterEvent::Due { number }));
        }
    }

    fn send_to_host(&mut self, agent: usize, event: &HostEvent) {
        for delay in self.network.arrivals(agent, Way::To, self.now, &mut self.random) {
            self.at(self.now + delay, Event::Host(agent, event.clone()));
        }
    }

    fn on_outcome(&mut self, at: usize, outcome: Outcome) {
        (0..self.hosts.len()).for_each(|agent| self.account(agent));
        let is_counted = self.plan.count_ns.is_some();
        checks::outcome(&outcome, &self.centers[at], &self.hosts, is_counted);
        let center = &mut self.centers[at];
        assert!(center.outcome.is_none(), "two outcomes");
        assert!(outcome.verdict.line().lines().count() <= 1);
        if self.plan.calm && !center.is_rival {
            let is_good = matches!(outcome.verdict, Verdict::Ok | Verdict::Interrupted);
            let is_whole = outcome.whole_seconds == outcome.seconds && outcome.missing.is_empty();
            assert!(is_good && is_whole, "this run should stand it: {outcome:?}");
            let near = 4 * outcome.agents.iter().filter_map(|agent| agent.bound_ns).max().unwrap() + MILLISECOND_NS;
            assert!(outcome.spread_ns.is_none_or(|spread| spread <= near), "{outcome:?}");
            let sent = self.truth.dealings.iter().filter(|((center, _), _)| *center == at);
            let last = sent.filter_map(|(_, dealing)| dealing.last_sent).max();
            let (last, close) = (last.unwrap(), outcome.close_ns.unwrap());
            assert!(last <= close + near, "{last}: {outcome:?}");
            // The last finisher ends the run, however far away its time limit is.
            let limit = outcome.start_ns.unwrap() + self.plan.warmup_ns + self.plan.window_ns;
            let is_ended_by_count = outcome.verdict == Verdict::Ok && close < limit;
            assert!(!is_ended_by_count || close <= last + SECOND_NS + near, "{last}: {outcome:?}");
            assert!(center.clock.at(self.now) < close + LATEST_NS, "{outcome:?}");
        }
        let is_early = |agent: &AgentOutcome| agent.expected < outcome.seconds;
        if outcome.verdict == Verdict::Ok && outcome.agents.iter().any(is_early) {
            self.kinds.push("finished");
        }
        (center.ended, center.outcome) = (Some(self.now), Some(outcome));
    }
}
