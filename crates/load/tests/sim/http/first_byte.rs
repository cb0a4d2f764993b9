//! Times to the first byte of replies that come in pieces, alone and in pipelines.

use crate::web::*;
use crate::worlds::{MS, WAY, histogram};
use brunt_load::Options;
use brunt_results::{LatencySummary, verdict::Kind};
use std::{iter::repeat_n, time::Duration};

/// Between the first byte of a reply and the rest.
const REST: Duration = MS.saturating_mul(100);

#[test]
fn the_first_byte_is_timed_apart_from_the_last_one() {
    // Cut within the status line, behind the head, in the body; every other reply comes whole.
    for cut in [4, ok("").len(), ok("").len() + 2] {
        let options = Options { connections: 1, ..some(20, get()) };
        let (result, _) = on_web(&options, move |request| {
            let reply = ok("hello");
            match request.number % 2 {
                0 => say(&reply[..cut]).wait(REST).say(&reply[cut..]),
                _ => say(&reply),
            }
        });
        let latency = result.latency;
        assert_eq!(latency.first_byte.unwrap(), LatencySummary::of(&histogram(repeat_n(WAY, 20))), "{cut}");
        let service = repeat_n(WAY, 10).chain(repeat_n(WAY + REST + WOKEN, 10));
        assert_eq!(latency.service, LatencySummary::of(&histogram(service)), "{cut}");
    }
}

#[test]
fn a_reply_begins_behind_the_one_before_it_in_the_same_receive() {
    let options = Options { connections: 1, ..some(20, gets(2, None)) };
    let (result, _) = on_web(&options, |request| match request.number % 2 {
        // The second reply begins with the first one, and ends later.
        0 => say(format!("{}HTTP/1.1 20", ok("hello"))),
        _ => Answer::default().wait(REST).say(&ok("hello")["HTTP/1.1 20".len()..]),
    });
    let latency = result.latency;
    assert_eq!(latency.first_byte.unwrap(), LatencySummary::of(&histogram(repeat_n(WAY, 20))));
    let service = repeat_n(WAY, 10).chain(repeat_n(WAY + REST + WOKEN, 10));
    assert_eq!(latency.service, LatencySummary::of(&histogram(service)));
}

#[test]
fn whole_replies_have_their_first_byte_with_the_last_one() {
    let (result, _) = on_web(&some(100, get()), |_| say(ok("hello")));
    assert_eq!(result.latency.service, LatencySummary::of(&histogram(repeat_n(WAY, 100))));
    assert_eq!(result.latency.first_byte.unwrap(), result.latency.service);
}

/// Kinds of the verdict on replies whose head is sent so long before their body, in a closed loop and in an open one.
fn kinds(pause: impl Fn(u64) -> Duration + Clone + 'static) -> [Vec<Kind>; 2] {
    [None, Some(20.0)].map(|rate| {
        let (options, pause) = (Options { connections: 4, rate, ..some(40, get()) }, pause.clone());
        let (result, _) = on_web(&options, move |request| {
            let reply = ok("hello");
            let (head, body) = reply.split_at(ok("").len());
            say(head).wait(pause(request.number)).say(body)
        });
        result.verdict.kinds
    })
}

#[test]
fn replies_in_parts_that_are_a_delayed_acknowledgement_apart_have_a_verdict_in_both_loops() {
    for millis in [36, 40, 44] {
        assert_eq!(kinds(move |_| millis * MS), [vec![Kind::DelayedAck], vec![Kind::DelayedAck]], "{millis}");
    }
    // Longer, shorter, and of any length about it.
    for millis in [25, 34, 46, 90] {
        assert_eq!(kinds(move |_| millis * MS), [vec![], vec![]], "{millis}");
    }
    assert_eq!(kinds(|number| (25 + 5 * (number % 7) as u32) * MS), [vec![], vec![]]);
}
