//! Clients that do anything slowly, by seed: requests in pieces, pauses, half closes, disappearances. Each connection is answered
//! and ends at the instant that the rule of deadlines says, and none is kept.

use crate::behaviour::{Behaviour, Last, Seen, Waits};
use crate::clients::metrics_are;
use crate::rule::{Rule, SEEN};
use crate::worlds::{MS, ONE_WAY, Server, US, address, exact, options, page};
use brunt_runtime::sim::{self, World};
use brunt_runtime::time;
use brunt_serve::http::{self, Plan, Service, Settings};
use brunt_testkit::each_seed;
use std::time::Duration;

/// At most as many as the server closes in one sweep.
const CLIENTS: u64 = 8;
const TEST: &str = "--test sim slow_clients";
const SEEDS: u64 = 300;
/// A tick is an eighth of the shortest one, so the nth one is `n` microseconds behind a whole millisecond.
const DEADLINES: [Duration; 4] =
    [MS.saturating_mul(80), MS.saturating_mul(160), MS.saturating_mul(240), MS.saturating_mul(400)];
/// Links of a host that varies, and its ticks, take at most so much longer.
const ROUGHLY: Duration = MS.saturating_mul(2);

/// The deadline of what a server waits for.
fn deadline(waits: Waits, settings: &Settings) -> Duration {
    match waits {
        Waits::Idle => settings.idle,
        Waits::Head => settings.header,
        Waits::Body => settings.body,
    }
}

/// What the rule says that a client sees, and whether it is late.
fn expected(client: &Behaviour, settings: &Settings) -> (Seen, bool) {
    let over = |(waits, began)| Rule::of(settings).over(began, deadline(waits, settings));
    let expires = |mut statuses: Vec<u16>, phase: (Waits, Duration)| {
        if phase.0 != Waits::Idle {
            statuses.push(408);
        }
        (Seen { statuses, end: Some(over(phase) + SEEN) }, true)
    };
    // The task of a connection begins in the turn behind that of the accept.
    let (mut phase, mut heads) = ((Waits::Idle, client.connects + ONE_WAY + US), 0);
    let (mut statuses, mut received) = (Vec::new(), 0);
    for (at, sent) in &client.pieces {
        let at = *at + ONE_WAY;
        if over(phase) < at {
            return expires(statuses, phase);
        }
        let (waits, begun) = client.waits(*sent);
        statuses.extend(vec![200; client.answered(*sent) - client.answered(received)]);
        // Bytes do not extend a phase.
        if (waits, begun) != (phase.0, heads) {
            (phase, heads) = ((waits, at), begun);
        }
        received = *sent;
    }
    let at = client.last.0 + ONE_WAY;
    match (client.last.1, phase.0) {
        _ if over(phase) < at => expires(statuses, phase),
        (Last::Waits, _) => expires(statuses, phase),
        (Last::Leaves, _) => (Seen { statuses, end: None }, false),
        (Last::HalfCloses, waits) => {
            let mut end = at + ONE_WAY;
            if waits != Waits::Idle {
                statuses.push(400);
                // It is closed when that is sent, a turn later unless its task runs alone.
                end += US;
            }
            (Seen { statuses, end: Some(end) }, false)
        }
    }
}

/// Whether a host that varies may show this: no phase ends before its deadline, nor later than two ticks after it.
fn is_possible(client: &Behaviour, settings: &Settings, seen: &Seen) -> bool {
    let most = |waits| deadline(waits, settings) + 2 * Rule::of(settings).tick + ROUGHLY;
    let (mut phase, mut heads, mut received) = ((Waits::Idle, client.connects), 0, 0);
    let said = |received: usize, last: &[u16]| seen.statuses == [&vec![200; client.answered(received)], last].concat();
    let has_expired = |(waits, began): (Waits, Duration), received| {
        let last: &[u16] = if waits == Waits::Idle { &[] } else { &[408] };
        let range = began + deadline(waits, settings) - US..=began + most(waits);
        said(received, last) && seen.end.is_some_and(|end| range.contains(&end))
    };
    for (at, sent) in &client.pieces {
        if has_expired(phase, received) && seen.end < Some(*at + ROUGHLY) {
            return true;
        }
        if *at - phase.1 > most(phase.0) {
            return false;
        }
        received = *sent;
        let (waits, begun) = client.waits(received);
        if (waits, begun) != (phase.0, heads) {
            (phase, heads) = ((waits, *at), begun);
        }
    }
    let (at, last) = client.last;
    if has_expired(phase, received) && (last == Last::Waits || seen.end < Some(at + ROUGHLY)) {
        return true;
    }
    let refused: &[u16] = if phase.0 == Waits::Idle { &[] } else { &[400] };
    let is_it = match (last, seen.end) {
        (Last::HalfCloses, Some(end)) => (at - US..at + ROUGHLY).contains(&end) && said(received, refused),
        (Last::Leaves, None) => said(received, &[]),
        _ => false,
    };
    is_it && at - phase.1 <= most(phase.0)
}

/// Tries one seed in a world; its digest. `holds` judges what a client has seen, and `late` is the number of late clients if
/// that is known.
fn check(
    world: &World,
    holds: impl Fn(&Behaviour, &Settings, &Seen),
    is_late: Option<fn(&Behaviour, &Settings) -> bool>,
) -> u64 {
    let [idle, header, body] = [(); 3].map(|()| world.one_of(&DEADLINES));
    let settings = Settings { idle, header, body, ..Settings::default() };
    let clients: Vec<_> = (0..1 + world.below(CLIENTS)).map(|number| Behaviour::draw(world, number)).collect();
    let late = is_late.map(|is_late| clients.iter().filter(|client| is_late(client, &settings)).count());
    let plan = Plan::service(Service::Echo, vec![address()]).with_metrics(Some(page()));
    let workers = vec![None; 1 + world.below(2) as usize];
    let serve = async {
        let server = Server::http(http::Options { workers, ..options(plan, settings.clone()) }).await;
        let act = |client: Behaviour| async move { (client.act().await, client) };
        let clients: Vec<_> = clients.into_iter().map(|client| brunt_runtime::spawn(act(client))).collect();
        for client in clients {
            let (seen, client) = client.await.unwrap();
            holds(&client, &settings, &seen);
        }
        // The last one is seen to leave.
        time::sleep(MS).await;
        let late = late.map(|late| format!("brunt_http_timeouts_total {late}"));
        metrics_are(late.iter().map(|line| &**line).chain(["brunt_http_connections_open 1"])).await;
        server.stop();
        server.end().await.1
    };
    let counts = world.run(serve).unwrap();
    assert_eq!((counts.failed, counts.cut), (0, 0));
    world.trace_digest()
}

#[test]
fn each_connection_ends_when_the_rule_says() {
    let holds = |client: &Behaviour, settings: &Settings, seen: &Seen| {
        let (expected, _) = expected(client, settings);
        let refuses = [400, 408].map(Some).contains(&expected.statuses.last().copied());
        let alone = Seen { end: expected.end.map(|end| end - US), ..expected.clone() };
        assert!(*seen == expected || refuses && *seen == alone, "{seen:?} {expected:?} {settings:?}\n{client:#?}");
    };
    each_seed(TEST, SEEDS, |seed| check(&exact(seed), holds, Some(|client, settings| expected(client, settings).1)));
}

#[test]
fn on_a_host_that_varies_no_connection_ends_early_or_three_ticks_late() {
    let holds = |client: &Behaviour, settings: &Settings, seen: &Seen| {
        assert!(is_possible(client, settings, seen), "{seen:?}\n{settings:?}\n{client:#?}");
    };
    each_seed(TEST, SEEDS, |seed| check(&World::with_settings(seed, sim::Settings::rough()), holds, None));
}
