//! One run from state to state, and what holds whatever arrives.

use super::*;
use crate::lease::{RESERVED_NS, RUNNING_NS};
use crate::sync::Estimate;
use crate::words::{Answer, Arm, Order, Why};
use crate::{MILLISECOND_NS, SECOND_NS};
use proptest::prelude::*;

/// Both clocks are the same one.
const CLOCK: Estimate = Estimate { offset_ns: 0, bound_ns: 1000, at_ns: 0 };

fn envelope(epoch: u64, seq: u64, now: i64, order: Order) -> Envelope {
    let (run, deadline_ns) = ("r".to_owned(), now + SECOND_NS);
    Envelope { version: Version, run, epoch, seq, sent_ns: now, deadline_ns, order }
}

fn task() -> Order {
    let (drain_ns, load) = (SECOND_NS, serde_json::Value::Null);
    Order::Task(Box::new(Task { clock: CLOCK, threads: 2, first: 0, end: 1, drain_ns, load }))
}

fn arm(now: i64) -> Order {
    let start_ns = now + 2 * SECOND_NS;
    Order::Arm(Arm { clock: CLOCK, start_ns, open_ns: start_ns, close_ns: start_ns + 9 * SECOND_NS })
}

fn order(choice: u8, now: i64) -> Order {
    match choice {
        0 => Order::Reserve { owner: "o".to_owned(), targets: Vec::new() },
        1 => Order::Sync {},
        2 => task(),
        3 => arm(now),
        4 => Order::Commit { lease_until_ns: now + 7 * SECOND_NS },
        5 => Order::Renew { clock: Some(CLOCK), lease_until_ns: now + RUNNING_NS, next_second: 0 },
        6 => Order::Close { at_ns: now + 300 * MILLISECOND_NS },
        _ => Order::Release {},
    }
}

fn effect(output: &Output) -> Option<&Effect> {
    match output {
        Output::Effect { effect, .. } => Some(effect),
        _ => None,
    }
}

fn effects(outputs: &[Output]) -> Vec<&Effect> {
    outputs.iter().filter_map(effect).collect()
}

/// An agent that has gone through the first orders of a run at time 0: its load has number 1 and starts at 2 s.
fn agent(orders: u8) -> Agent {
    let mut agent = Agent::new("a", 1);
    for choice in 0..orders {
        let outputs = agent.order(&envelope(1, u64::from(choice) + 1, 0, order(choice, 0)), 0, 0);
        assert!(
            matches!(&outputs[outputs.len() - 1], Output::Reply(reply) if !matches!(reply.answer, Answer::Refused(_)))
        );
        if choice == 2 {
            agent.happened(1, Happening::Prepared, 0);
            agent.happened(1, Happening::Connected, 0);
        }
    }
    agent
}

#[test]
fn a_run_goes_from_state_to_state() {
    let mut agent = agent(5);
    assert_eq!(agent.state(), State::Armed);
    agent.tick(2 * SECOND_NS);
    assert_eq!(agent.state(), State::Running);
    let outputs = agent.happened(1, Happening::Second { second: 0 }, 3 * SECOND_NS);
    assert_eq!(effects(&outputs), [&Effect::Keep { second: 0 }, &Effect::Send { from: 0 }]);
    // The renewal lengthens the lease, and what is missing for long is sent again.
    let at = 6 * SECOND_NS;
    let renewal = envelope(1, 9, at, order(5, at));
    let until = at + RUNNING_NS - CLOCK.bound_at_coordinator(at + RUNNING_NS);
    assert_eq!(effects(&agent.order(&renewal, at, at)), [&Effect::Lease { until }, &Effect::Send { from: 0 }]);
    assert_eq!(agent.due(), Some(11 * SECOND_NS - (11 * SECOND_NS - until)));
    // No other renewal comes: the load ends by itself, and a later one changes nothing.
    let outputs = agent.tick(until);
    assert_eq!(
        (effects(&outputs), agent.state()),
        (vec![&Effect::CloseAt { close: until }, &Effect::Release], State::Draining)
    );
    let outputs = agent.order(&envelope(1, 10, until, order(5, until)), until, until);
    assert!(!effects(&outputs).iter().any(|effect| matches!(effect, Effect::Lease { .. })));
    agent.happened(1, Happening::Drained { digest: "d".to_owned() }, until);
    let end = agent.status().end.unwrap();
    assert_eq!((agent.state(), end.seconds, end.why), (State::Reporting, 1, Some(Why::LeaseOver {})));
    agent.order(&envelope(1, 11, until, order(7, until)), until, until);
    assert_eq!(agent.state(), State::Idle);
}

#[test]
fn a_load_that_ends_by_itself_is_reported_without_a_reason_and_no_close_gives_it_one() {
    let mut agent = agent(5);
    agent.tick(2 * SECOND_NS);
    agent.happened(1, Happening::Second { second: 0 }, 2 * SECOND_NS + 5);
    let at = 2 * SECOND_NS + 6;
    let outputs = agent.happened(1, Happening::Drained { digest: "d".to_owned() }, at);
    assert!(matches!(&outputs[..], [Output::Notice(notice)] if matches!(notice.event, Event::End(_))), "{outputs:?}");
    // Renewed until the others have ended, or closed with them.
    for choice in [5, 6] {
        let outputs = agent.order(&envelope(1, 9, at, order(choice, at)), at, at);
        // The second is sent again, since the renewal lacks it.
        assert!(effects(&outputs).iter().all(|effect| matches!(effect, Effect::Send { .. })), "{outputs:?}");
    }
    let end = agent.status().end.unwrap();
    assert_eq!((agent.state(), end.seconds, end.why), (State::Reporting, 1, None));
}

#[test]
fn without_a_commit_nothing_starts_and_without_orders_nothing_stays() {
    let mut armed = agent(4);
    assert_eq!(effects(&armed.tick(2 * SECOND_NS)), [&Effect::Abandon]);
    assert_eq!((armed.state(), armed.status().begun), (State::Stopped, false));
    let mut reserved = agent(1);
    reserved.tick(RESERVED_NS - 1);
    assert_eq!(reserved.state(), State::Reserved);
    reserved.tick(RESERVED_NS);
    assert_eq!(reserved.state(), State::Idle);
}

#[test]
fn a_renewal_of_the_reservation_that_comes_after_the_commit_is_no_lease() {
    let mut agent = agent(5);
    let renewal = Order::Renew { clock: None, lease_until_ns: RESERVED_NS, next_second: 0 };
    let outputs = agent.order(&envelope(1, 4, 0, renewal), 0, 0);
    assert!(effects(&outputs).is_empty());
    let late = Envelope { deadline_ns: 0, ..envelope(1, 12, 0, order(5, 0)) };
    assert!(effects(&agent.order(&late, SECOND_NS, SECOND_NS)).is_empty());
    assert_eq!(agent.refusals(), Refusals { old: 1, late: 1, ..Refusals::default() });
}

#[test]
fn a_later_coordinator_of_the_owner_takes_over_and_another_owner_does_not() {
    let mut agent = agent(5);
    let foreign = Envelope {
        run: "s".to_owned(),
        ..envelope(9, 1, 0, Order::Reserve { owner: "p".to_owned(), targets: Vec::new() })
    };
    let outputs = agent.order(&foreign, 0, 0);
    assert!(
        matches!(&outputs[0], Output::Reply(reply) if matches!(&reply.answer, Answer::Busy { owner, .. } if owner == "o"))
    );
    let outputs = agent.order(&envelope(2, 1, 0, order(0, 0)), 0, 0);
    assert_eq!((effects(&outputs), agent.state()), (vec![&Effect::Abandon], State::Reserved));
    // The new load waits until the old one is gone, and the old coordinator has no say any more.
    assert!(effects(&agent.order(&envelope(2, 2, 0, task()), 0, 0)).is_empty());
    let outputs = agent.order(&envelope(1, 20, 0, order(0, 0)), 0, 0);
    assert!(matches!(&outputs[0], Output::Reply(reply) if reply.answer == Answer::Refused(Refusal::Old {})));
    let outputs = agent.happened(1, Happening::Drained { digest: String::new() }, 0);
    assert!(matches!(effects(&outputs)[..], [Effect::Prepare { epoch: 2, .. }]));
}

#[test]
fn an_agent_whose_coordinator_is_gone_while_it_collects_is_free_once_renewals_are_missing() {
    let mut agent = agent(5);
    // It ends as planned, at 11 s.
    for (seq, now) in (20..).zip((1..12).map(|second| second * SECOND_NS)) {
        agent.order(&envelope(1, seq, now, order(5, now)), now, now);
    }
    agent.happened(1, Happening::Drained { digest: String::new() }, 11 * SECOND_NS);
    assert_eq!(agent.state(), State::Reporting);
    // Renewals go on while the last seconds arrive.
    let last = 15 * SECOND_NS;
    agent.order(&envelope(1, 40, last, order(5, last)), last, last);
    let by_another = |agent: &mut Agent, seq: u64, at: i64| {
        let reserve = Order::Reserve { owner: "p".to_owned(), targets: Vec::new() };
        let outputs = agent.order(&Envelope { run: "s".to_owned(), ..envelope(1, seq, at, reserve) }, at, at);
        let answer = |output: Output| if let Output::Reply(reply) = output { Some(reply.answer) } else { None };
        outputs.into_iter().find_map(answer)
    };
    let free = last + RUNNING_NS;
    assert!(agent.held(free - 1).is_some() && agent.held(free).is_none());
    assert!(matches!(by_another(&mut agent, 1, free - 1), Some(Answer::Busy { left_ns: 1, .. })));
    assert_eq!(by_another(&mut agent, 2, free), Some(Answer::Granted {}));
}

#[test]
fn what_was_sent_before_a_release_and_comes_after_it_is_old() {
    let mut agent = agent(1);
    let release = envelope(1, 5, 0, Order::Release {});
    agent.order(&release, 0, 0);
    agent.order(&envelope(1, 3, 0, order(0, 0)), 0, 0);
    assert_eq!(agent.state(), State::Idle);
    // Reserved again, it is not released by the order of before.
    agent.order(&envelope(1, 6, 0, order(0, 0)), 0, 0);
    agent.order(&release, 0, 0);
    agent.order(&envelope(1, 4, 0, Order::Release {}), 0, 0);
    assert_eq!((agent.state(), agent.refusals().old), (State::Reserved, 2));
    // A release may be all that arrives of a run.
    agent.order(&Envelope { run: "s".to_owned(), ..release }, 0, 0);
    let reserve = Envelope { run: "s".to_owned(), ..envelope(9, 4, 0, order(0, 0)) };
    agent.order(&Envelope { epoch: 1, ..reserve }, 0, 0);
    assert_eq!((agent.run(), agent.refusals().old), (Some(("r", 1)), 3));
}

/// What a load has been told.
#[derive(Debug, Default)]
struct Told {
    lease: Option<i64>,
    begun: Option<i64>,
    abandoned: bool,
    drained: bool,
}

proptest! {
    #[test]
    fn loads_are_one_at_a_time_and_begin_with_a_lease(
        inputs in prop::collection::vec((0..14u8, 0..6u8, 1..3u64, 0..3u64, 0..3_000u64), 1..120),
    ) {
        let mut agent = Agent::new("a", 1);
        let (mut now, mut seq) = (0, 0);
        let mut loads: Vec<Told> = Vec::new();
        for (choice, happening, epoch, back, pause) in inputs {
            now += pause as i64 * MILLISECOND_NS * i64::from(pause % 3 != 0);
            let load = loads.len() as u64;
            let outputs = if choice < 8 {
                seq += 1;
                let envelope = envelope(epoch, (seq - back.min(seq)).max(1), now, order(choice, now));
                let outputs = agent.order(&envelope, now, now);
                // A repetition is answered as before and changes nothing; what was refused for its state or age may be so again.
                let again = agent.clone().order(&envelope, now, now);
                prop_assert!(effects(&again).is_empty(), "{again:?}");
                outputs
            } else {
                let happening = match happening {
                    0 => Happening::Prepared,
                    1 => Happening::Connected,
                    2 => Happening::Failed { error: "e".to_owned() },
                    3 => Happening::Second { second: agent.status().seconds },
                    4 => Happening::FirstSend { at: now },
                    _ => Happening::Drained { digest: "d".to_owned() },
                };
                if let (Happening::Drained { .. }, Some(told)) = (&happening, loads.last_mut()) {
                    told.drained = true;
                }
                agent.happened(load, happening, now)
            };
            for output in &outputs {
                let Output::Effect { load, effect } = output else { continue };
                if let Effect::Prepare { .. } = effect {
                    prop_assert!(loads.last().is_none_or(|told| told.drained), "{loads:?}");
                    loads.push(Told::default());
                }
                let told = &mut loads[*load as usize - 1];
                prop_assert!(!told.abandoned, "{effect:?} after its end");
                match effect {
                    Effect::Lease { until } => {
                        prop_assert!(told.lease.is_none_or(|lease| lease < *until && now < lease));
                        told.lease = Some(*until);
                    }
                    Effect::Begin { start, .. } => {
                        prop_assert!(told.lease.is_some_and(|lease| lease <= start + RUNNING_NS) && now < *start);
                        prop_assert!(told.begun.replace(*start).is_none());
                    }
                    Effect::Abandon => told.abandoned = true,
                    _ => (),
                }
            }
        }
        // Left alone, it becomes idle.
        for _ in 0..3 {
            now += 100 * SECOND_NS;
            agent.tick(now);
            agent.happened(loads.len() as u64, Happening::Drained { digest: "d".to_owned() }, now);
        }
        now += 100 * SECOND_NS;
        agent.tick(now);
        prop_assert_eq!(agent.state(), State::Idle);
    }
}
