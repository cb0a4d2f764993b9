//! The cost of a timer: `cargo test --release -p brunt-runtime --lib wheel::measure -- --ignored --nocapture`.

use super::{Key, Timers};
use crate::task::{queue::Tasks, waiter::Wakers};
use std::time::{Duration, Instant};
use std::{collections::BTreeSet, hint::black_box, rc::Rc};

const ROUNDS: usize = 300_000;

/// A timer fires and is armed again.
struct Event {
    at: u64,
    timer: usize,
    next: u64,
}

/// The first deadlines of `standing` timers, up to `most` nanoseconds ahead, and the events that follow.
fn schedule(standing: usize, most: u64) -> (Vec<u64>, Vec<Event>) {
    let mut seed = 7u64;
    // Marsaglia, "Xorshift RNGs", 2003.
    let mut ahead = || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        1 + seed % most
    };
    let first: Vec<u64> = (0..standing).map(|_| ahead()).collect();
    let mut due: BTreeSet<(u64, usize)> =
        first.iter().enumerate().map(|(timer, deadline)| (*deadline, timer)).collect();
    let event = |_| {
        let (at, timer) = due.pop_first().unwrap();
        let next = at + ahead();
        due.insert((next, timer));
        Event { at, timer, next }
    };
    let events = (0..ROUNDS).map(event).collect();
    (first, events)
}

/// Nanoseconds a round, best of 20 runs of all events on a new wheel with these first deadlines.
fn best(
    start: Instant,
    first: &[Instant],
    events: &[Event],
    mut round: impl FnMut(&mut Timers, &mut [Key], usize, &Event),
) -> f64 {
    let mut run = || {
        let mut timers = Timers::new(start);
        let mut keys: Vec<_> = first.iter().map(|deadline| timers.insert(*deadline)).collect();
        let begun = Instant::now();
        events.iter().enumerate().for_each(|(nth, event)| round(&mut timers, &mut keys, nth, event));
        begun.elapsed()
    };
    (0..20).map(|_| run()).min().unwrap().as_nanos() as f64 / ROUNDS as f64
}

#[test]
#[ignore = "a measurement"]
fn cost_of_a_timer() {
    let start = Instant::now();
    let at = |nanos: u64| start + Duration::from_nanos(nanos);
    let mut wakers = Wakers::new(Rc::new(Tasks::new()));
    for (standing, most) in [1, 10, 1000, 100_000].into_iter().flat_map(|n| [(n, 10_000_000), (n, 60_000_000_000)]) {
        let (first, events) = schedule(standing, most);
        let first: Vec<Instant> = first.into_iter().map(at).collect();
        let cancel = best(start, &first, &events, |timers, _, _, event| {
            let key = timers.insert(black_box(at(event.next)));
            timers.remove(key, &mut wakers);
        });
        let renew = best(start, &first, &events, |timers, keys, nth, event| {
            let oldest = &mut keys[nth % standing];
            timers.remove(*oldest, &mut wakers);
            *oldest = timers.insert(black_box(at(most + event.next)));
        });
        let fire = best(start, &first, &events, |timers, keys, _, event| {
            timers.fire(at(event.at), &mut wakers);
            timers.remove(keys[event.timer], &mut wakers);
            keys[event.timer] = timers.insert(at(event.next));
        });
        let most = Duration::from_nanos(most);
        println!("{standing:>6} up to {most:?}: arm+cancel {cancel:.1} ns, renew {renew:.1} ns, arm+fire {fire:.1} ns");
    }
}
