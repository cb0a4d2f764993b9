//! What histories do not tell apart: that a start is cancelled for all, and that an outcome says why in one line.

use super::*;
use crate::words::{Answer, End, Order, State, Status, Times as Answered, Version, Why};

const AGENTS: [&str; 2] = ["a", "b"];

fn config() -> Config {
    let member = |(first, id): (usize, &&str)| Member { id: (*id).to_owned(), first, end: first + 1 };
    Config {
        owner: "o".to_owned(),
        run: "r".to_owned(),
        epoch: 1,
        members: AGENTS.iter().enumerate().map(member).collect(),
        threads: 2,
        targets: Vec::new(),
        is_exclusive: true,
        load: serde_json::Value::Null,
        warmup_ns: 0,
        window_ns: 3 * SECOND_NS,
        ends_by_count: false,
        drain_ns: SECOND_NS,
        // Of no account for what is not accepted.
        prepare_ns: 45 * SECOND_NS,
        connect_ns: Config::CONNECT_NS,
        skew_ns: Some(Config::SKEW_NS),
        tolerate: 0,
        tries: Config::TRIES,
        seed: 7,
    }
}

/// The answer of an agent that carries out all orders, and whose clock is the coordinator's.
fn answer(order: &Order, now: i64) -> Answer {
    let times = Answered { received_ns: now, answered_ns: now };
    let status = Box::new(Status { state: State::Connected, ..Status::idle(0) });
    match order {
        Order::Reserve { .. } => Answer::Granted {},
        Order::Sync {} => Answer::Synced(times),
        Order::Renew { .. } => Answer::Renewed { times, status },
        _ => Answer::Accepted(status),
    }
}

/// Runs until the outcome, a step each 10 ms. An agent answers an order at once if `hears` says so. Returns the orders, too.
fn run(hears: impl Fn(&str, &Order) -> bool) -> (Outcome, Vec<(String, Order)>) {
    run_with(config(), hears, |_, _| Vec::new())
}

/// As [`run`]; before each step something happens besides.
fn run_with(
    config: Config,
    hears: impl Fn(&str, &Order) -> bool,
    mut besides: impl FnMut(&mut Coordinator, i64) -> Vec<Output>,
) -> (Outcome, Vec<(String, Order)>) {
    let (mut coordinator, mut orders, mut now) = (Coordinator::new(config, 0), Vec::new(), 0);
    AGENTS.iter().for_each(|agent| drop(coordinator.found(agent, 1, 0)));
    loop {
        let mut outputs = besides(&mut coordinator, now);
        outputs.extend(coordinator.tick(now));
        while !outputs.is_empty() {
            let mut next = Vec::new();
            for output in outputs {
                match output {
                    Output::Find | Output::Look { .. } => (),
                    Output::Outcome(outcome) => return (*outcome, orders),
                    Output::Order { agent, envelope } => {
                        let Envelope { run, epoch, seq, order, .. } = *envelope;
                        orders.push((agent.clone(), order.clone()));
                        if hears(&agent, &order) {
                            let answer = answer(&order, now);
                            let reply = Reply { version: Version, run, epoch, seq, agent, incarnation: 1, answer };
                            next.extend(coordinator.reply(&reply, now));
                        }
                    }
                }
            }
            outputs = next;
        }
        now += 10 * MILLISECOND_NS;
        assert!(now < 60 * SECOND_NS, "no outcome");
    }
}

fn to(agent: &str, orders: &[(String, Order)], is: impl Fn(&Order) -> bool) -> usize {
    orders.iter().filter(|(to, order)| to == agent && is(order)).count()
}

#[test]
fn a_commit_that_one_agent_does_not_acknowledge_is_cancelled_for_all() {
    let (outcome, orders) = run(|agent, order| agent != "b" || !matches!(order, Order::Commit { .. }));
    assert_eq!(outcome.verdict, Verdict::NotCommitted { agents: vec!["b".to_owned()] });
    assert_eq!(outcome.verdict.line(), "not started: no confirmation in time from b: try again");
    for agent in AGENTS {
        assert_eq!(
            to(agent, &orders, |order| matches!(order, Order::Commit { .. })),
            if agent == "a" { 1 } else { 18 }
        );
        assert_eq!(to(agent, &orders, |order| matches!(order, Order::Close { .. })), 1);
        assert_eq!(to(agent, &orders, |order| matches!(order, Order::Release {})), 1);
    }
    assert!(outcome.agents.iter().all(|agent| agent.started == Started::Perhaps));
}

#[test]
fn a_task_that_one_agent_does_not_accept_is_given_up_before_files_could_be_fetched() {
    let (outcome, orders) = run(|agent, order| agent != "b" || !matches!(order, Order::Task(_)));
    assert_eq!(outcome.verdict, Verdict::NoAnswer { agent: "b".to_owned(), to: "task" });
    // Each second, for 10 s.
    assert!((10..=11).contains(&to("b", &orders, |order| matches!(order, Order::Task(_)))));
}

#[test]
fn times_that_one_agent_does_not_acknowledge_are_committed_by_none() {
    let (outcome, orders) = run(|agent, order| agent != "b" || !matches!(order, Order::Arm(_)));
    assert_eq!(outcome.verdict, Verdict::NotCommitted { agents: vec!["b".to_owned()] });
    for agent in AGENTS {
        assert_eq!(to(agent, &orders, |order| matches!(order, Order::Commit { .. })), 0);
        assert_eq!(to(agent, &orders, |order| matches!(order, Order::Release {})), 1);
    }
    assert!(outcome.agents.iter().all(|agent| agent.started == Started::No));
}

#[test]
fn a_second_counts_once_and_not_from_a_lost_agent() {
    let mut step = 0;
    let (outcome, orders) = run_with(
        config(),
        |_, _| true,
        |coordinator, now| {
            if !coordinator.is_running() || now < coordinator.times.unwrap().start + SECOND_NS {
                return Vec::new();
            }
            step += 1;
            let mut outputs = Vec::new();
            let mut counts = |agent: &str, incarnation, second| {
                let (counts, more) = coordinator.second(agent, incarnation, second, now);
                outputs.extend(more);
                counts
            };
            if step == 1 {
                assert!(counts("a", 1, 0) && !counts("a", 1, 0) && !counts("a", 1, 3) && counts("b", 1, 1));
                assert!(!counts("c", 1, 0), "no such agent");
                assert!(!counts("b", 2, 0), "another incarnation: it has started again");
                assert!(!counts("b", 1, 0), "a lost agent");
            }
            outputs
        },
    );
    let why = Lost::Restarted;
    assert_eq!(outcome.verdict, Verdict::AgentLost { agent: "b".to_owned(), whole_seconds: 0, why });
    assert_eq!(outcome.verdict.line(), "lost: agent b after 0 whole seconds (it has started again): look at its log");
    assert_eq!((outcome.agents[0].seconds, outcome.agents[1].seconds), (1, 1));
    assert!(to("a", &orders, |order| matches!(order, Order::Close { .. })) > 0);
    // The lost agent gets no renewal any more, so that its lease ends.
    let close = orders.iter().position(|(_, order)| matches!(order, Order::Close { .. })).unwrap();
    assert_eq!(to("b", &orders[close..], |order| matches!(order, Order::Renew { .. })), 0);
    assert!(to("a", &orders[close..], |order| matches!(order, Order::Renew { .. })) > 0);
}

/// A run of loads that end by a count, with a time limit of a day. At the given milliseconds after the start happens what the list says, one
/// after the other: the agent, its incarnation, and an end with its reason or, without one, the next second.
fn counted(happens: &[(i64, &str, u64, Option<End>)]) -> Outcome {
    let config = Config { ends_by_count: true, window_ns: 24 * 3600 * SECOND_NS, ..config() };
    let (mut left, mut next) = (happens, std::collections::BTreeMap::new());
    let (outcome, _) = run_with(
        config,
        |_, _| true,
        |coordinator, now| {
            let Some(((at, agent, incarnation, end), rest)) = left.split_first() else { return Vec::new() };
            let start = coordinator.times.filter(|_| coordinator.is_running()).map(|times| times.start);
            if start.is_none_or(|start| now < start + at * MILLISECOND_NS) {
                return Vec::new();
            }
            left = rest;
            match end {
                None => {
                    let second = next.entry(*agent).or_insert(0);
                    *second += 1;
                    coordinator.second(agent, *incarnation, *second - 1, now).1
                }
                Some(end) => {
                    let (agent, incarnation, event) = ((*agent).to_owned(), *incarnation, Event::End(end.clone()));
                    let run = "r".to_owned();
                    coordinator.notice(&Notice { version: Version, run, epoch: 1, agent, incarnation, event }, now)
                }
            }
        },
    );
    assert!(left.is_empty(), "{outcome:?}");
    outcome
}

fn end(seconds: u64, why: Option<Why>) -> Option<End> {
    Some(End { seconds, first_send_ns: Some(0), why, digest: String::new() })
}

#[test]
fn loads_that_end_by_a_count_end_the_run_and_each_has_its_own_seconds() {
    let a = [(500, "a", 1, end(1, None)), (510, "a", 1, None)];
    let b = [(1000, "b", 1, None), (2000, "b", 1, None), (2300, "b", 1, None), (2310, "b", 1, end(3, None))];
    let outcome = counted(&[&a[..], &b].concat());
    let of = |outcome: &Outcome| outcome.agents.iter().map(|of| (of.seconds, of.expected)).collect::<Vec<_>>();
    assert_eq!((&outcome.verdict, of(&outcome)), (&Verdict::Ok, vec![(1, 1), (3, 3)]));
    assert_eq!((outcome.whole_seconds, outcome.seconds, outcome.missing.len()), (3, 3, 0));
    assert_eq!(outcome.close_ns.unwrap() - outcome.start_ns.unwrap(), 3 * SECOND_NS);
    // All of an agent is there: that it starts again changes nothing.
    let outcome = counted(&[&a[..], &[(600, "a", 2, None)], &b].concat());
    assert_eq!((&outcome.verdict, of(&outcome)), (&Verdict::Ok, vec![(1, 1), (3, 3)]));
}

#[test]
fn a_load_that_something_else_ends_is_lost_also_with_a_count() {
    for (why, seconds, incarnation) in [
        (Some(Why::LeaseOver {}), 1, 1),
        (Some(Why::NotDrained {}), 1, 1),
        // Its only second did not arrive before it started again.
        (None, 1, 2),
    ] {
        let outcome = counted(&[(1100, "a", incarnation, end(seconds, why))]);
        assert!(matches!(&outcome.verdict, Verdict::AgentLost { agent, .. } if agent == "a"), "{outcome:?}");
    }
}

#[test]
fn a_run_without_agents_is_refused() {
    let mut coordinator = Coordinator::new(Config { members: Vec::new(), ..config() }, 0);
    let outputs = coordinator.tick(0);
    assert!(matches!(&outputs[..], [Output::Outcome(outcome)] if outcome.verdict == Verdict::NoAgent));
}
