//! The wheel compared with a sorted map, and at its limits; and the cost of a timer.

use super::*;
use crate::task::{queue::Tasks, waiter::Due, waker::LogWaker};
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};
use std::{hint::black_box, rc::Rc, task::Waker};

/// A wheel, its model, and the log of fired timers.
struct Bench {
    wheel: Timers,
    wakers: Wakers,
    model: BTreeMap<(u64, u64), Key>,
    armed: u64,
    now: u64,
    log: Arc<Mutex<Vec<u64>>>,
    /// A pending timer was removed, so `next_deadline` may be early.
    removed: bool,
}

impl Bench {
    fn new() -> Self {
        let (wheel, wakers) = (Timers::new(Instant::now()), Wakers::new(Rc::new(Tasks::new())));
        Self { wheel, wakers, model: BTreeMap::new(), armed: 0, now: 0, log: Arc::default(), removed: false }
    }

    fn at(&self, nanos: u64) -> Instant {
        self.wheel.start + Duration::from_nanos(nanos)
    }

    fn arm(&mut self, deadline: u64) {
        let key = self.wheel.insert(self.at(deadline));
        let waker = Waker::from(Arc::new(LogWaker(self.armed, self.log.clone())));
        assert!(!self.wheel.poll(key, &mut self.wakers, &Context::from_waker(&waker)));
        self.model.insert((deadline, self.armed), key);
        self.armed += 1;
    }

    fn remove(&mut self, pick: usize) {
        let Some((&name, _)) = self.model.iter().nth(pick % self.model.len().max(1)) else { return };
        let key = self.model.remove(&name).unwrap();
        self.wheel.remove(key, &mut self.wakers);
        self.wheel.remove(key, &mut self.wakers);
        self.removed = true;
    }

    /// One turn; returns the woken timers.
    fn fire(&mut self) -> Vec<u64> {
        let now = self.at(self.now);
        self.wheel.fire(now, &mut self.wakers);
        self.wakers.take_due().into_iter().for_each(Due::run);
        mem::take(&mut self.log.lock().unwrap())
    }

    fn advance(&mut self, to: u64) -> Result<(), TestCaseError> {
        self.now = self.now.max(to);
        let (mut fired, mut turns) = (self.fire(), 0);
        while self.wheel.next_deadline().is_some_and(|next| next <= self.at(self.now)) {
            fired.extend(self.fire());
            turns += 1;
            prop_assert!(turns < 1000, "it turns without end");
        }
        let later = self.model.split_off(&(self.now + 1, 0));
        let due = mem::replace(&mut self.model, later);
        let names: Vec<u64> = due.keys().map(|(_, name)| *name).collect();
        prop_assert_eq!(fired, names);
        for key in due.into_values() {
            prop_assert!(self.wheel.poll(key, &mut self.wakers, &Context::from_waker(Waker::noop())));
            self.wheel.remove(key, &mut self.wakers);
        }
        Ok(())
    }

    fn check(&mut self) -> Result<(), TestCaseError> {
        self.removed &= !self.model.is_empty();
        let least = self.model.keys().next().map(|(deadline, _)| self.at(*deadline));
        let next = self.wheel.next_deadline();
        prop_assert_eq!(next.is_some(), least.is_some());
        prop_assert!(next <= least && (self.removed || next == least), "{:?} instead of {:?}", next, least);
        prop_assert_eq!(self.wheel.len(), self.model.len());
        prop_assert_eq!(self.wheel.is_idle(), self.model.is_empty());
        Ok(())
    }
}

/// From nanoseconds to weeks, all magnitudes equally likely.
fn span() -> impl Strategy<Value = u64> {
    (1u32..=51, any::<u64>()).prop_map(|(bits, n)| n >> (64 - bits))
}

#[derive(Debug, Clone)]
enum Op {
    Arm(u64),
    ArmOverdue(u64),
    /// Several timers with one deadline.
    ArmMany(u64, u8),
    Remove(usize),
    Advance(u64),
    /// To this many nanoseconds before the first deadline.
    AdvanceToFirst(u64),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => span().prop_map(Op::Arm),
        1 => span().prop_map(Op::ArmOverdue),
        1 => (span(), 2u8..30).prop_map(|(n, many)| Op::ArmMany(n, many)),
        4 => any::<usize>().prop_map(Op::Remove),
        3 => span().prop_map(Op::Advance),
        2 => (0u64..2).prop_map(Op::AdvanceToFirst),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]
    #[test]
    fn fires_on_time_and_in_order(ops in proptest::collection::vec(op(), 1..200)) {
        let mut bench = Bench::new();
        for op in ops {
            match op {
                Op::Arm(n) => bench.arm(bench.now + n),
                Op::ArmOverdue(n) => bench.arm(bench.now.saturating_sub(n)),
                Op::ArmMany(n, many) => (0..many).for_each(|_| bench.arm(bench.now + n)),
                Op::Remove(pick) => bench.remove(pick),
                Op::Advance(n) => bench.advance(bench.now + n)?,
                Op::AdvanceToFirst(n) => {
                    let first = bench.model.keys().next().map_or(0, |(deadline, _)| *deadline);
                    bench.advance(first.saturating_sub(n))?;
                }
            }
            bench.check()?;
        }
        while !bench.model.is_empty() {
            bench.remove(0);
            bench.check()?;
        }
    }
}

#[test]
fn many_due_timers_take_many_turns_and_keep_their_order() {
    let mut bench = Bench::new();
    // 1 us apart, armed in a different order.
    (0..100_000u64).for_each(|n| bench.arm(1 + n * 7_919 % 100_000 * 1_000));
    bench.now = 3_600_000_000_000;
    let (mut fired, mut most) = (Vec::new(), 0);
    while !bench.wheel.is_idle() {
        let before = fired.len();
        fired.extend(bench.fire());
        most = most.max(fired.len() - before);
    }
    assert!(fired.into_iter().eq(bench.model.keys().map(|(_, name)| *name)));
    assert!(most < 2 * WORK_A_TURN, "{most} in one turn");
}

#[test]
fn past_and_far_deadlines_fire_like_others() {
    let mut wheel = Timers::new(Instant::now());
    let (mut wakers, start) = (Wakers::new(Rc::new(Tasks::new())), wheel.start);
    let year = Duration::from_secs(365 * 24 * 3600);
    let key =
        [start - Duration::from_secs(1), start, start + year * 100, start + year * 10_000].map(|at| wheel.insert(at));
    let mut fired = |wheel: &mut Timers, at: Instant| {
        while wheel.next_deadline().is_some_and(|next| next <= at) {
            wheel.fire(at, &mut wakers);
        }
        key.map(|key| wheel.poll(key, &mut wakers, &Context::from_waker(Waker::noop())))
    };
    assert_eq!(fired(&mut wheel, start), [true, true, false, false]);
    assert_eq!(fired(&mut wheel, start + year * 100 - Duration::from_nanos(1)), [true, true, false, false]);
    assert_eq!(fired(&mut wheel, start + year * 500), [true, true, true, false]);
}

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

/// `cargo test --release -p brunt-runtime --lib cost_of_a_timer -- --ignored --nocapture`
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
