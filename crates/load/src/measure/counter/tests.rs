use super::*;
use crate::schedule::{Arrival, Profile, Share};
use proptest::prelude::*;

const MS: u64 = 1_000_000;
const START: u64 = 7 * MS;

/// A request as the target made it, times in nanoseconds. Taken from the schedule, it has a connection.
#[derive(Debug, Clone, Copy)]
struct Request {
    intended: u64,
    taken: u64,
    done: u64,
    failed: bool,
}

fn counting(limit_ms: u64) -> Counting {
    Counting { every: Duration::from_millis(100), limit: Duration::from_millis(limit_ms), quantile: 0.99 }
}

/// Requests of a schedule, one at a time on one connection, each with its time of service and whether it failed.
fn queue(schedule: &Schedule, service: &[(u64, bool)]) -> Vec<Request> {
    let (mut schedule, mut free) = (schedule.clone(), 0);
    let request = |(length, failed): &(u64, bool)| {
        let intended = START + schedule.take();
        let taken = free.max(intended);
        free = taken + length;
        Request { intended, taken, done: free, failed: *failed }
    };
    service.iter().map(request).collect()
}

/// What the counter says at each of these times, and at the end of the load, `close`.
fn parts(limit_ms: u64, schedule: &Schedule, requests: &[Request], walks: &[u64], close: u64) -> Vec<Part> {
    let mut counter = Counter::new(&counting(limit_ms), Some(schedule));
    counter.begin(START);
    let (mut parts, mut left) = (Vec::new(), schedule.clone());
    let mut before = 0;
    for at in walks.iter().copied().chain([close]) {
        let ended = requests.iter().filter(|request| (before..at).contains(&request.done));
        ended.for_each(|request| counter.ended(request.done, request.intended, request.failed));
        while left.taken < requests.iter().filter(|request| request.taken < at).count() as u64 {
            left.take();
        }
        let mut in_flight = requests.iter().filter(|request| request.taken < at && request.done >= at);
        parts.push(match at {
            _ if at == close => {
                in_flight.for_each(|request| counter.ended(at, request.intended, true));
                counter.rest(at, Some(&left), close)
            }
            _ => {
                let mut walk = counter.walk(at);
                in_flight.by_ref().for_each(|request| walk.visit(request.intended));
                walk.end(Some(&left), close)
            }
        });
        before = at;
    }
    parts
}

proptest! {
    #[test]
    fn each_request_counts_once_when_it_ends_or_becomes_slow(
        service in proptest::collection::vec((1u64..30 * MS, any::<bool>()), 1..200),
        gaps in proptest::collection::vec(1u64..40 * MS, 1..60),
        limit_ms in 1u64..50,
        seed: u64,
    ) {
        let share = Share { thread: 0, threads: 1, connections: 1, group: 1 };
        let schedule = Schedule::new(Arrival::Poisson, Profile::constant(100.0), seed, share);
        let requests = queue(&schedule, &service);
        let walks: Vec<u64> = gaps.iter().scan(START, |at, gap| { *at += gap; Some(*at) }).collect();
        let last = walks[walks.len() - 1];
        // Later ones than the target was asked are never sent.
        let close = (last + 1).min(requests[requests.len() - 1].intended);
        let walks: Vec<u64> = walks.into_iter().filter(|at| *at < close).collect();
        let parts = parts(limit_ms, &schedule, &requests, &walks, close);
        let limit = limit_ms * MS;
        let (mut count, mut slow, mut offered) = (0, 0, 0);
        for (part, at) in parts.iter().zip(walks.iter().chain([&close])) {
            count += part.count;
            slow += part.slow;
            offered += part.offered;
            let due = requests.iter().filter(|request| request.intended < *at);
            prop_assert_eq!(offered, due.clone().count() as u64);
            if *at == close {
                // What has not ended by then never does.
                prop_assert_eq!(count, offered);
                continue;
            }
            let is_slow = |request: &&Request| request.done.min(*at) - request.intended > limit;
            let has_ended = |request: &&Request| request.done < *at;
            let failed = due.clone().filter(|request| has_ended(request) && request.failed && !is_slow(request)).count();
            prop_assert_eq!(count, due.clone().filter(|request| has_ended(request) || is_slow(request)).count() as u64);
            prop_assert_eq!(slow, (due.clone().filter(is_slow).count() + failed) as u64);
            let oldest = due.filter(|request| !has_ended(request)).map(|request| at - request.intended).max();
            prop_assert_eq!(part.oldest_ns, oldest.unwrap_or(0));
        }
    }
}

#[test]
fn a_million_waiting_requests_take_a_hundred_cells() {
    let schedule = Schedule::new(
        Arrival::Constant,
        Profile::constant(1e6),
        1,
        Share { thread: 0, threads: 1, connections: 1, group: 1 },
    );
    let mut counter = Counter::new(&counting(100), Some(&schedule));
    counter.begin(START);
    let part = counter.walk(START + 1100 * MS).end(Some(&schedule), u64::MAX);
    assert_eq!((part.count, part.slow, part.offered), (1_000_000, 1_000_000, 1_100_000));
    let mut ages = RawHistogram::default();
    ages.add(&part.in_flight);
    let median = ages.quantile(0.5).unwrap() as f64 / 1e6;
    assert!((median / 600.0 - 1.0).abs() < 0.02, "{median}");
}

#[test]
fn time_in_which_the_generator_was_held_up_is_not_the_targets() {
    let mut counter = Counter::new(&counting(6), None);
    counter.begin(START);
    let at = |ms: u64| START + ms * MS;
    // Held up from 10 to 20 ms, noticed by two late requests.
    counter.sent(at(10), at(20));
    counter.sent(at(12), at(20));
    for (intended, done) in [(10, 21), (5, 20), (2, 20), (19, 24)] {
        counter.ended(at(done), at(intended), false);
    }
    // Ages at 26 ms without the 10 ms: 7, 6 and 5 ms.
    let mut walk = counter.walk(at(26));
    [9, 10, 11].iter().for_each(|intended| walk.visit(at(*intended)));
    let part = walk.end(None, u64::MAX);
    assert_eq!((part.count, part.slow), (5, 2));
    // A generator that is always late measures nothing.
    let mut counter = Counter::new(&counting(6), None);
    counter.begin(START);
    (1..100).for_each(|ms| counter.sent(at(ms), at(ms + 2)));
    counter.ended(at(100), at(90), false);
    assert_eq!(counter.walk(at(101)).end(None, u64::MAX).slow, 1);
}
