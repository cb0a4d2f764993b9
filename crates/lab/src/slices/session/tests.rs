mod bench;

use super::*;
use crate::clock::given::Machine as _;
use crate::slices::participant::Participant;
use crate::slices::{SliceError, SliceSpec};
use bench::{Bench, Server};
use brunt_results::env::Env;
use std::convert::identity;
use std::rc::Rc;

const MS: Duration = Duration::from_millis(1);
const US: Duration = Duration::from_micros(1);
const SLICE: Duration = Duration::from_millis(100);

/// One that takes 100 us for a reply and one that takes half as long again, of which half is CPU time.
fn two(bench: &Bench) -> [Server; 2] {
    [bench.server("fast", 100 * US, 50 * US), bench.server("slow", 150 * US, 75 * US)]
}

fn begin<'a>(servers: &[&Server], seed: u64, warmup: Duration) -> Rounds<'a> {
    let participants: Vec<Participant> = servers.iter().map(|server| server.participant()).collect();
    Rounds::begin(participants, 1, seed, SLICE, warmup, &[0]).unwrap()
}

/// Makes so many rounds.
fn made(rounds: &mut Rounds, count: u32) -> Vec<Slice> {
    let mut all = Vec::new();
    let ended = session(rounds, &AtomicBool::new(false), identity, |_, slices, made| {
        all.extend(slices);
        Ok(made.rounds == count)
    });
    assert_eq!(ended, Ok(End::Enough));
    all
}

/// Targets by the order of their slices, a letter each, a word a round.
fn order(slices: &[Slice]) -> String {
    let words = slices.chunk_by(|a, b| a.round == b.round);
    let words = words.map(|round| round.iter().map(|slice| &slice.target[..1]).collect::<String>());
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_round_is_a_slice_of_each_target_in_random_order_and_all_have_one_length() {
    let bench = Bench::begin();
    let servers = two(&bench);
    let slices = made(&mut begin(&servers.each_ref(), 7, 500 * MS), 8);
    assert_eq!(order(&slices), "fs sf sf fs fs fs fs sf");
    let made = bench.made.take();
    // The warm-up: half of it is not measured.
    let warm = SliceSpec { lead: 250 * MS, window: 250 * MS, seed: 7 };
    assert_eq!(made[..2], [("fast", warm), ("slow", warm)]);
    let mut at = Duration::ZERO;
    for (index, (slice, (name, spec))) in slices.iter().zip(&made[2..]).enumerate() {
        let (round, position) = (index as u32 / 2 + 1, index as u32 % 2);
        assert_eq!((slice.start, slice.round, slice.position, &*slice.target), (1, round, position, *name));
        assert_eq!(spec, &made[2 + index / 2 * 2].1, "the second slice of a round is as long as the first");
        // 6,667 replies a second are enough in 150 ms for a thousand.
        assert!(spec.lead == 10 * MS && spec.window >= 135 * MS && spec.window <= 165 * MS, "{spec:?}");
        assert_eq!((slice.at_us, slice.window_us), (at.as_micros() as u64, spec.window.as_micros() as u64));
        at += spec.lead + spec.window;
    }
    let lengths: Vec<Duration> = made[2..].chunks(2).map(|round| round[0].1.window).collect();
    assert!(lengths.windows(2).all(|two| two[0] != two[1]), "{lengths:?}");
}

#[test]
fn the_seed_alone_decides_orders_lengths_and_arrivals() {
    let of = |seed| {
        let bench = Bench::begin();
        let servers = two(&bench);
        let slices = made(&mut begin(&servers.each_ref(), seed, 500 * MS), 40);
        (order(&slices), bench.made.take())
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1).0, of(2).0);
    let firsts = of(1).0.split(' ').filter(|round| round.starts_with('f')).count();
    assert_eq!(firsts, 24);
}

#[test]
fn what_a_slice_records_is_what_its_target_used_while_it_had_the_load() {
    let bench = Bench::begin();
    let servers = two(&bench);
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    for slice in made(&mut rounds, 20) {
        let cost = if slice.target == "fast" { 50 } else { 75 };
        assert_eq!(slice.server_cpu_us, Some((slice.replies * cost) as f64));
        assert_eq!(slice.cpu_us_per_request(), Some(cost as f64));
        assert_eq!((slice.lost_us, slice.idle_cpu_us, slice.rss_bytes), (0.0, vec![], Some(1 << 20)));
    }
}

#[test]
fn time_that_the_machine_takes_spoils_its_round_if_it_is_more_than_a_tenth_of_a_slice() {
    let bench = Bench::begin();
    let servers = two(&bench);
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    // Of the third and the seventh round.
    let mut number = 0;
    servers[0].during(move |machine| {
        number += 1;
        machine.lose(if number == 3 {
            12 * MS
        } else if number == 7 {
            20 * MS
        } else {
            Duration::ZERO
        });
        Ok(())
    });
    let (mut all, mut seen) = (Vec::new(), Vec::new());
    let ended = session(&mut rounds, &AtomicBool::new(false), identity, |_, slices, made| {
        all.extend(slices);
        seen.push(made.void);
        Ok(made.rounds == 10)
    });
    assert_eq!((ended, seen), (Ok(End::Enough), vec![0, 0, 0, 0, 0, 0, 1, 1, 1, 1]));
    let lost: Vec<(u32, f64)> =
        all.iter().map(|slice| (slice.round, slice.lost_us)).filter(|(_, us)| *us > 0.0).collect();
    assert_eq!(lost, [(3, 12e3), (7, 20e3)], "in the slice in which it was taken");
}

#[test]
fn a_start_ends_when_its_rules_say_so() {
    let bench = Bench::begin();
    let servers = two(&bench);
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    let begun = clock::now();
    let mut times = Vec::new();
    let ended = session(&mut rounds, &AtomicBool::new(false), identity, |_, slices, made| {
        times.push((made.time, slices.iter().map(|slice| slice.busy_us).sum::<u64>()));
        Ok(made.time >= Duration::from_secs(2))
    });
    assert_eq!(ended, Ok(End::Enough));
    // Rounds of 2 (150 + 10) ms, longer or shorter by up to 30 ms.
    assert_eq!(times.len(), 7);
    assert_eq!(times.last().unwrap().0, clock::since(begun));
    let sums = times.iter().scan(0, |sum, (_, us)| {
        *sum += us;
        Some(*sum)
    });
    assert!(sums.zip(&times).all(|(us, (time, _))| us.abs_diff(time.as_micros() as u64) <= 2 * 7), "{times:?}");
}

#[test]
fn a_target_that_ends_is_taken_out_and_the_others_go_on() {
    let bench = Bench::begin();
    let servers = [bench.server("a", 100 * US, US), bench.server("b", 100 * US, US), bench.server("c", 100 * US, US)];
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    let mut all = Vec::new();
    let ended = session(&mut rounds, &AtomicBool::new(false), identity, |rounds, slices, made| {
        all.extend(slices);
        let gone = match made.rounds {
            3 => "b",
            5 => "a",
            8 => "c",
            _ => return Ok(false),
        };
        rounds.remove(gone);
        Ok(false)
    });
    assert_eq!(ended, Ok(End::NoTarget));
    let sorted = |round: &[Slice]| {
        let mut names: Vec<&str> = round.iter().map(|slice| &*slice.target).collect();
        names.sort_unstable();
        names.concat()
    };
    let rounds: Vec<String> = all.chunk_by(|a, b| a.round == b.round).map(sorted).collect();
    assert_eq!(rounds, ["abc", "abc", "abc", "ac", "ac", "c", "c", "c"]);
    // The CPU time of the others is still their own.
    assert!(all.iter().all(|slice| slice.server_cpu_us.map(f64::round) == Some(slice.replies as f64)));
}

#[test]
fn a_slice_that_cannot_be_made_takes_its_target_out_and_a_load_that_cannot_ends_the_session() {
    let bench = Bench::begin();
    let servers = two(&bench);
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    servers[1].during(|machine| {
        let is_late = machine.account().lost >= 2 * US;
        machine.lose(US);
        if is_late { Err(SliceError::Target("its tester said nothing".to_owned())) } else { Ok(()) }
    });
    let (mut all, mut failures) = (Vec::new(), Vec::new());
    let ended = session(&mut rounds, &AtomicBool::new(false), identity, |rounds, slices, made| {
        all.extend(slices);
        failures.extend(rounds.failures().into_iter().map(|(name, why)| (made.rounds, name, why)));
        Ok(made.rounds == 4)
    });
    assert_eq!(ended, Ok(End::Enough));
    assert_eq!(failures, [(3, "slow".to_owned(), "its tester said nothing".to_owned())]);
    assert_eq!(order(&all), "fs sf f f");
    servers[0].during(|_| Err(SliceError::Experiment("a load thread has ended".to_owned())));
    let ended = session(&mut rounds, &AtomicBool::new(false), identity, |_, _, _| unreachable!());
    assert_eq!(ended, Err("a load thread has ended".to_owned()));
}

#[test]
fn an_interrupt_ends_the_session_after_the_round_in_which_it_comes() {
    let bench = Bench::begin();
    let servers = two(&bench);
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    let stop = Rc::new(AtomicBool::new(false));
    let (sets, mut number) = (stop.clone(), 0);
    servers[0].during(move |_| {
        number += 1;
        sets.store(number == 3, Ordering::Relaxed);
        Ok(())
    });
    let mut all = Vec::new();
    let mut each = |_: &mut Rounds, slices: Vec<Slice>, _| {
        all.extend(slices);
        Ok(false)
    };
    assert_eq!(session(&mut rounds, &stop, identity, &mut each), Ok(End::Stopped));
    assert_eq!(session(&mut rounds, &stop, identity, &mut each), Ok(End::Stopped));
    assert_eq!(order(&all), "fs sf sf");
}

/// As a proxy and its backend: what the backend does for the proxy's requests is no idleness, and to freeze it would stop the proxy.
#[test]
fn a_target_that_works_for_another_one_is_not_frozen() {
    let bench = Bench::begin();
    let backend = bench.server("backend", 100 * US, 50 * US);
    let proxy = bench.server("proxy", 200 * US, 50 * US).with_backend(&backend);
    let mut rounds = begin(&[&proxy, &backend], 7, 500 * MS);
    let slices = made(&mut rounds, 5);
    assert!(bench.frozen.take().is_empty());
    let shared: Vec<_> = slices.iter().map(|slice| (&*slice.target, slice.shared_cpu_us.clone())).collect();
    for (target, shared) in shared {
        let of_backend = vec![("backend".to_owned(), 5000.0)];
        assert_eq!(shared, if target == "proxy" { of_backend } else { Vec::new() });
    }
    let mut env = Env::default();
    rounds.describe("backend", &mut env);
    assert_eq!(env.idle.map(|idle| idle.cpu_percent), Some(0.0));
}

#[test]
fn two_targets_of_one_process_do_not_idle_while_the_other_has_the_load() {
    let bench = Bench::begin();
    let one = bench.server("one", 100 * US, 50 * US);
    let other = bench.server("other", 100 * US, 50 * US).with_backend(&one);
    let participants = [&one, &other].map(|server| Participant { process: Some(7), ..server.participant() });
    let mut rounds = Rounds::begin(participants.into(), 1, 7, SLICE, 500 * MS, &[0]).unwrap();
    let slices = made(&mut rounds, 5);
    assert!(slices.iter().all(|slice| slice.shared_cpu_us.is_empty() && slice.idle_cpu_us.is_empty()));
    assert!(bench.frozen.take().is_empty());
}

#[test]
fn a_target_that_burns_while_it_idles_is_frozen_but_in_its_slices() {
    let bench = Bench::begin();
    let servers = [bench.server("calm", 100 * US, US), bench.server("eager", 100 * US, US).burning()];
    let mut rounds = begin(&servers.each_ref(), 7, 500 * MS);
    let slices = made(&mut rounds, 5);
    let [mut calm, mut eager] = [Env::default(), Env::default()];
    rounds.describe("calm", &mut calm);
    rounds.describe("eager", &mut eager);
    // Watched alone for 50 ms, in which it uses all of a core.
    let idle = eager.idle.unwrap();
    assert_eq!((idle.cpu_percent, idle.frozen_by.as_deref()), (100.0, Some("ice")));
    assert_eq!(calm.idle.map(|idle| (idle.cpu_percent, idle.frozen_by)), Some((0.0, None)));
    assert_eq!(slices[0].at_us, 0);
    assert!(slices.iter().all(|slice| slice.idle_cpu_us.is_empty()), "the other one does nothing meanwhile");
    let eager = slices.iter().find(|slice| slice.target == "eager").unwrap();
    assert_eq!(eager.server_cpu_us.map(f64::floor), Some((eager.busy_us + eager.replies) as f64));
    let turns = bench.frozen.take();
    assert_eq!(
        turns,
        ["freeze", "thaw", "freeze"]
            .iter()
            .chain(["thaw", "freeze"].iter().cycle().take(10))
            .copied()
            .collect::<Vec<_>>()
    );
}

#[test]
fn rates_of_one_target_are_tried_in_random_order_in_one_round() {
    let bench = Bench::begin();
    let server = bench.server("only", 100 * US, US);
    let mut rounds = begin(&[&server], 7, 300 * MS);
    let lengths = brunt_slices::length::Lengths { window: 200 * MS, lead: 50 * MS };
    let mut tried = Vec::new();
    for _ in 0..4 {
        let round = rounds.round_of_rates(&[1.0, 2.0, 3.0], lengths, &AtomicBool::new(false)).unwrap();
        tried.push(round.iter().map(|(rate, _)| *rate as u32).collect::<Vec<_>>());
    }
    assert_eq!(tried, [[2, 1, 3], [1, 3, 2], [3, 2, 1], [1, 2, 3]]);
    let made = bench.made.take();
    assert!(made[1..].chunks(3).all(|round| round.iter().all(|(_, spec)| *spec == round[0].1)));
    let none = rounds.round_of_rates(&[1.0], lengths, &AtomicBool::new(true)).unwrap();
    assert!(none.is_empty());
}
