//! What must hold of every history: I1 to I6 of `docs/internals/fleet.md`.

use crate::center::{Center, Counted};
use crate::clock::Clock;
use crate::host::{By, Host, Key};
use brunt_fleet::coordinator::{AgentOutcome, Outcome, Started, Verdict};
use brunt_fleet::words::{Answer, Arm, Order};
use std::collections::BTreeMap;

/// Times are converted between clocks and true time, each to 2 ns.
const ROUNDING_NS: i64 = 10;

/// What a coordinator and an agent have in truth done with each other.
#[derive(Debug, Default, Clone)]
pub struct Dealing {
    /// The latest time that the coordinator has granted after a commit, on its clock.
    granted: Option<i64>,
    commit_sent: bool,
    arm: Option<Arm>,
    arm_acknowledged: bool,
    commit_acknowledged: bool,
    pub has_sent: bool,
    /// The last time it sent, on the coordinator's clock.
    pub last_sent: Option<i64>,
}

/// By coordinator and agent.
#[derive(Debug, Default)]
pub struct Truth {
    pub dealings: BTreeMap<(usize, usize), Dealing>,
}

/// Whether an order is void after its deadline, and the agent knows the clock by which that is.
pub fn has_deadline(order: &Order) -> bool {
    matches!(order, Order::Task(_) | Order::Arm(_) | Order::Commit { .. } | Order::Renew { clock: Some(_), .. })
}

impl Truth {
    fn of(&mut self, center: usize, agent: usize) -> &mut Dealing {
        self.dealings.entry((center, agent)).or_default()
    }

    /// An order leaves the coordinator.
    pub fn ordered(&mut self, center: usize, agent: usize, order: &Order, clocks: (Clock, Clock), now: i64) {
        let dealing = self.of(center, agent);
        match order {
            Order::Arm(arm) => {
                let (theirs, own) = (clocks.0.at(now), clocks.1.at(now));
                let error = (theirs - own - arm.clock.offset_ns).abs();
                assert!(error <= arm.clock.bound_at(theirs), "the offset is wrong by {error} ns: {arm:?}");
                dealing.arm = Some(*arm);
            }
            Order::Commit { lease_until_ns } => {
                dealing.commit_sent = true;
                dealing.granted = dealing.granted.max(Some(*lease_until_ns));
            }
            Order::Renew { lease_until_ns, .. } if dealing.commit_sent => {
                dealing.granted = dealing.granted.max(Some(*lease_until_ns));
            }
            _ => (),
        }
    }

    /// An agent answers an order.
    pub fn answered(&mut self, center: usize, agent: usize, order: &Order, answer: &Answer) {
        let dealing = self.of(center, agent);
        let is_accepted = matches!(answer, Answer::Accepted(_));
        dealing.arm_acknowledged |= is_accepted && matches!(order, Order::Arm(_));
        dealing.commit_acknowledged |= is_accepted && matches!(order, Order::Commit { .. });
    }

    /// I1 and the first half of I3: an agent sends from one time to another of its clock.
    pub fn sends(&mut self, center: usize, agent: usize, (from, to): (i64, i64), clocks: (Clock, Clock)) {
        let dealing = self.of(center, agent);
        dealing.has_sent = true;
        assert!(dealing.arm_acknowledged && dealing.commit_acknowledged, "I3: started without a word: {dealing:?}");
        let on_center = |read: i64| clocks.1.at(clocks.0.truth(read));
        let (Some(arm), Some(granted)) = (dealing.arm, dealing.granted) else {
            panic!("I3: never ordered: {dealing:?}")
        };
        let last = on_center(to - 1);
        dealing.last_sent = Some(last);
        assert!(last <= granted + ROUNDING_NS, "I1: sends {} ns after the lease: {dealing:?}", last - granted);
        let earliest = arm.start_ns - arm.clock.bound_at_coordinator(arm.start_ns) - ROUNDING_NS;
        assert!(on_center(from) >= earliest, "I1: sends {} ns before the start", earliest - on_center(from));
    }
}

/// I4 and I6, when a coordinator tells the outcome.
pub fn outcome(outcome: &Outcome, center: &Center, hosts: &[Host], is_counted: bool) {
    let last = outcome.agents.iter().map(|agent| agent.expected).max();
    assert!(last.is_none_or(|last| last == outcome.seconds), "{outcome:?}");
    let expected = |id: &str| outcome.agents.iter().find(|agent| agent.id == id).map_or(0, |agent| agent.expected);
    let claims = |agent: &str, second: u64| {
        second < outcome.whole_seconds.min(expected(agent))
            && !outcome.missing.iter().any(|(id, missing)| (id.as_str(), *missing) == (agent, second))
    };
    let mut journals = Counted::new();
    for agent in &outcome.agents {
        let host = hosts.iter().find(|host| host.id == agent.id).unwrap();
        let Some(incarnation) = agent.incarnation else { continue };
        let kept = host.journal.iter().filter(|((run, epoch, kept, second), _)| {
            (run, *epoch, *kept) == (&center.run, center.epoch, incarnation) && claims(&agent.id, *second)
        });
        journals.extend(kept.map(|(key, table)| ((agent.id.clone(), incarnation, key.3), table.clone())));
        let claimed = (0..outcome.whole_seconds).filter(|second| claims(&agent.id, *second)).count();
        let known = |second: &u64| host.journal.contains_key(&(center.run.clone(), center.epoch, incarnation, *second));
        let there = (0..outcome.whole_seconds).filter(|second| claims(&agent.id, *second)).filter(known).count();
        assert_eq!(there, claimed, "I4: agent {} has not all seconds that are claimed: {outcome:?}", agent.id);
        if outcome.verdict == Verdict::Ok {
            is_all(outcome, agent, host, &center.run, center.epoch, is_counted);
            assert!(agent.lost.is_none() && agent.started == Started::Yes, "I6: {outcome:?}");
        }
    }
    let counted = center.counted.iter().filter(|((_, _, second), _)| *second < outcome.whole_seconds);
    assert!(counted.eq(&journals), "I4: {outcome:?}: {:?} instead of {journals:?}", center.counted);
    if outcome.verdict == Verdict::Ok {
        assert!(outcome.missing.is_empty() && outcome.whole_seconds == outcome.seconds && outcome.seconds > 0, "I6");
    }
    // A second is whole unless it lacks an agent whose loss was tolerated before.
    let is_lost = |id: &str| outcome.agents.iter().any(|agent| agent.id == id && agent.lost.is_some());
    for (id, second) in outcome.missing.iter().filter(|(_, second)| *second < outcome.whole_seconds) {
        let is_marked = outcome.marked_from.is_some_and(|from| *second >= from);
        assert!(is_lost(id) && is_marked, "I4: second {second} of {id} is not there: {outcome:?}");
    }
    let is_named = |(agent, _): &(String, u64)| outcome.agents.iter().any(|known| known.id == *agent);
    assert!(outcome.missing.iter().all(is_named) && outcome.whole_seconds <= outcome.seconds);
}

/// I6: all that an agent has measured has arrived, until the close or the end of its requests.
fn is_all(outcome: &Outcome, agent: &AgentOutcome, host: &Host, run: &str, epoch: u64, is_counted: bool) {
    let incarnation = agent.incarnation.unwrap_or_default();
    let is_own = |key: &&Key| (key.0.as_str(), key.1, key.2) == (run, epoch, incarnation);
    let measured: Vec<u64> = host.journal.keys().filter(is_own).map(|key| key.3).collect();
    assert!(measured.iter().copied().eq(0..agent.expected), "I6: agent {} has {measured:?}: {outcome:?}", agent.id);
    assert_eq!(agent.seconds, agent.expected, "I6: agent {}: {outcome:?}", agent.id);
    let by = host.ends.get(&(run.to_owned(), epoch, incarnation));
    let is_finished = by == Some(&By::Count) && is_counted && agent.expected <= outcome.seconds;
    let is_closed = by == Some(&By::Close) && agent.expected == outcome.seconds;
    assert!(is_finished || is_closed, "I6: agent {}, ended by {by:?}: {outcome:?}", agent.id);
}

/// The second half of I3, at the end of a history: the outcome tells which agents started. Returns whether some did and others did not.
pub fn starts(center: usize, outcome: &Outcome, truth: &Truth, hosts: &[Host]) -> bool {
    let has_sent = |agent: usize| truth.dealings.get(&(center, agent)).is_some_and(|dealing| dealing.has_sent);
    let sent = (0..hosts.len()).filter(|agent| has_sent(*agent)).count();
    for (at, host) in hosts.iter().enumerate() {
        let agent = outcome.agents.iter().find(|agent| agent.id == host.id).unwrap();
        match agent.started {
            Started::No => assert!(!has_sent(at), "I3: agent {} has started: {outcome:?}", host.id),
            Started::Yes => assert!(has_sent(at), "I3: agent {} has not started: {outcome:?}", host.id),
            Started::Perhaps => (),
        }
    }
    let some = sent > 0 && sent < hosts.len();
    assert!(!some || outcome.verdict != Verdict::Ok, "I3: {outcome:?}");
    some
}
