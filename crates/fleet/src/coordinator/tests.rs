//! What histories do not tell apart: that a start is cancelled for all, and that an outcome says why in one line.

use super::*;
use crate::words::{Answer, Order, State, Status, Times as Answered, Version};

const AGENTS: [&str; 2] = ["a", "b"];

fn config() -> Config {
    let member = |(first, id): (usize, &&str)| Member { id: (*id).to_owned(), first, end: first + 1 };
    Config {
        owner: "o".to_owned(),
        run: "r".to_owned(),
        epoch: 1,
        members: AGENTS.iter().enumerate().map(member).collect(),
        threads: 2,
        load: serde_json::Value::Null,
        warmup_ns: 0,
        window_ns: 3 * SECOND_NS,
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
    run_with(hears, |_, _| Vec::new())
}

/// As [`run`]; before each step something happens besides.
fn run_with(
    hears: impl Fn(&str, &Order) -> bool,
    mut besides: impl FnMut(&mut Coordinator, i64) -> Vec<Output>,
) -> (Outcome, Vec<(String, Order)>) {
    let (mut coordinator, mut orders, mut now) = (Coordinator::new(config(), 0), Vec::new(), 0);
    AGENTS.iter().for_each(|agent| drop(coordinator.found(agent, 1, 0)));
    loop {
        let mut outputs = besides(&mut coordinator, now);
        outputs.extend(coordinator.tick(now));
        while !outputs.is_empty() {
            let mut next = Vec::new();
            for output in outputs {
                match output {
                    Output::Find => (),
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

#[test]
fn a_run_without_agents_is_refused() {
    let mut coordinator = Coordinator::new(Config { members: Vec::new(), ..config() }, 0);
    let outputs = coordinator.tick(0);
    assert!(matches!(&outputs[..], [Output::Outcome(outcome)] if outcome.verdict == Verdict::NoAgent));
}
