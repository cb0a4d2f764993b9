use super::*;
use proptest::prelude::*;

fn shares(threads: usize, connections: usize) -> impl Iterator<Item = Share> {
    (0..threads).map(move |thread| Share { thread, threads, connections, group: threads })
}

fn first(schedule: &mut Schedule, count: usize) -> Vec<u64> {
    (0..count).map(|_| schedule.take()).collect()
}

const ALONE: Share = Share { thread: 0, threads: 1, connections: 1, group: 1 };

#[test]
fn constant_gaps_follow_the_closed_form_for_hours() {
    for rate in [1u64, 3, 7, 1_000, 20_000, 999_983, 1_000_000] {
        let exact = |k: u64| ((u128::from(k) * 1_000_000_000 + u128::from(rate) / 2) / u128::from(rate)) as u64;
        let mut schedule = Schedule::new(Arrival::Constant, Profile::constant(rate as f64), 1, ALONE);
        for k in 0..50_000 {
            assert_eq!(schedule.take(), exact(k), "request {k} at {rate}/s");
        }
        // Ten hours on.
        for k in (36_000 * rate)..(36_000 * rate + 1000) {
            let due = Profile::constant(rate as f64).due_ns(k as f64);
            assert!(((due + 0.5) as u64).abs_diff(exact(k)) <= 1, "request {k} at {rate}/s");
        }
    }
}

#[test]
fn the_parts_of_all_threads_make_up_the_schedule_of_one() {
    for (threads, connections) in [(1, 1), (2, 2), (2, 100), (3, 100), (4, 7), (7, 7), (16, 1000)] {
        let mut whole = Schedule::new(Arrival::Constant, Profile::constant(12_345.0), 1, ALONE);
        let mut union: Vec<u64> = shares(threads, connections)
            .flat_map(|share| {
                let mut part = Schedule::new(Arrival::Constant, Profile::constant(12_345.0), 1, share);
                let n = share.own() * 20;
                first(&mut part, n)
            })
            .collect();
        union.sort_unstable();
        assert_eq!(union, first(&mut whole, connections * 20), "{threads} threads, {connections} connections");
    }
}

#[test]
fn the_parts_of_a_ramp_make_up_the_ramp() {
    let stages = [Stage { from: 100.0, to: 2000.0, length: std::time::Duration::from_secs(3) }];
    let profile = Profile::staged(std::time::Duration::from_millis(500), &stages);
    let mut whole = Schedule::new(Arrival::Constant, profile.clone(), 1, ALONE);
    let mut union: Vec<u64> = shares(3, 7)
        .flat_map(|share| first(&mut Schedule::new(Arrival::Constant, profile.clone(), 1, share), share.own() * 400))
        .collect();
    union.sort_unstable();
    assert_eq!(union, first(&mut whole, 2800));
    // As many as the integral of the rate, also of a random process.
    for (arrival, tolerance) in [(Arrival::Constant, 1.0), (Arrival::Poisson, 250.0)] {
        let mut schedule = Schedule::new(arrival, profile.clone(), 1, ALONE);
        let count = schedule.skip_to(3_500_000_000) as f64;
        assert!((count - 3200.0).abs() <= tolerance, "{arrival:?}: {count}");
    }
}

proptest! {
    #[test]
    fn the_parts_of_recorded_times_make_up_the_record(
        mut times in proptest::collection::vec(0u64..10_000_000_000, 1..400),
        threads in 1usize..6,
        extra in 0usize..9,
    ) {
        times.sort_unstable();
        let profile = Profile::recorded(times.clone().into());
        let (mut union, mut numbers) = (Vec::new(), Vec::new());
        for share in shares(threads, threads + extra) {
            let mut schedule = Schedule::new(Arrival::Constant, profile.clone(), 1, share);
            let mut of_thread = Numbers::new(share);
            let rest: Vec<_> = schedule.rest(20_000_000_000).collect();
            while schedule.peek() < 20_000_000_000 {
                // The number says which recorded request it is.
                prop_assert_eq!(times[of_thread.current() as usize], schedule.peek());
                numbers.push(of_thread.current());
                of_thread.advance();
                union.push(schedule.take());
            }
            prop_assert!(of_thread.current() as usize >= times.len());
            prop_assert_eq!(rest.len() as u64, schedule.taken);
        }
        union.sort_unstable();
        numbers.sort_unstable();
        prop_assert_eq!(numbers, (0..times.len() as u64).collect::<Vec<_>>());
        prop_assert_eq!(union, times);
    }
}

#[test]
fn connections_are_divided_evenly() {
    let all: Vec<usize> = shares(3, 11).map(|share| share.own()).collect();
    assert_eq!(all, [4, 4, 3]);
    assert_eq!(shares(3, 11).map(|share| share.before()).collect::<Vec<_>>(), [0, 4, 8]);
    let mut numbers: Vec<usize> =
        shares(3, 11).flat_map(|share| (0..share.own()).map(move |i| share.global(i))).collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (0..11).collect::<Vec<_>>());
}

#[test]
fn groups_send_one_after_the_other_and_make_up_the_schedule_of_one() {
    for (group, groups, connections) in [(1, 3, 11), (2, 3, 20), (3, 4, 12), (2, 1, 7)] {
        let threads = group * groups;
        let shares: Vec<_> = (0..threads).map(|thread| Share { thread, threads, connections, group }).collect();
        let mut numbers: Vec<_> =
            shares.iter().flat_map(|share| (0..share.own()).map(|index| share.global(index))).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..connections).collect::<Vec<_>>());
        let schedule = |share: &Share| Schedule::new(Arrival::Constant, Profile::constant(1e3), 1, *share);
        let of_group = |number: usize| {
            let shares = &shares[number * group..(number + 1) * group];
            shares.iter().flat_map(|share| first(&mut schedule(share), share.own())).collect::<Vec<_>>()
        };
        let turns: Vec<_> = (0..groups).map(of_group).collect();
        assert!(turns.windows(2).all(|pair| pair[0].iter().max() < pair[1].iter().min()), "{turns:?}");
        let mut all: Vec<_> = shares.iter().flat_map(|share| first(&mut schedule(share), share.own() * 3)).collect();
        all.sort_unstable();
        let whole = Schedule::new(Arrival::Constant, Profile::constant(1e3), 1, ALONE);
        assert_eq!(all, first(&mut whole.clone(), connections * 3));
    }
}

/// Kolmogorov-Smirnov distance of `samples` from the exponential distribution of that mean.
fn ks_exponential(mut samples: Vec<f64>, mean: f64) -> f64 {
    samples.sort_unstable_by(f64::total_cmp);
    let n = samples.len() as f64;
    let distance = |(i, x): (usize, &f64)| {
        let model = 1.0 - (-x / mean).exp();
        (model - i as f64 / n).abs().max(((i + 1) as f64 / n - model).abs())
    };
    samples.iter().enumerate().map(distance).fold(0.0, f64::max)
}

#[test]
fn poisson_gaps_are_exponential_for_each_thread_and_the_sum() {
    const N: usize = 20_000;
    // P(D > 1.95 / sqrt n) is 0.001; the seeds are fixed, so the result is too.
    let bound = 1.95 / (N as f64).sqrt();
    let gaps = |times: &[u64]| times.windows(2).map(|w| (w[1] - w[0]) as f64).collect::<Vec<_>>();
    for seed in [0, 1, 42, 1 << 40, u64::MAX] {
        let mut union = Vec::new();
        for share in shares(3, 10) {
            let mean = 1e9 / 5_000.0 * 10.0 / share.own() as f64;
            let mut schedule = Schedule::new(Arrival::Poisson, Profile::constant(5_000.0), seed, share);
            let times = first(&mut schedule, N);
            assert!(ks_exponential(gaps(&times), mean) < bound, "seed {seed}, {share:?}");
            union.extend(times);
        }
        union.sort_unstable();
        union.truncate(N);
        assert!(ks_exponential(gaps(&union), 1e9 / 5_000.0) < bound, "seed {seed}, union");
    }
}

#[test]
fn schedules_follow_from_seed_and_thread() {
    let of = |seed, share| first(&mut Schedule::new(Arrival::Poisson, Profile::constant(1e4), seed, share), 1000);
    for share in shares(2, 4) {
        assert_eq!(of(9, share), of(9, share));
        assert_ne!(of(9, share), of(10, share));
    }
    let [a, b] = [0, 1].map(|thread| of(9, Share { thread, threads: 2, connections: 2, group: 2 }));
    assert_ne!(a, b);
}

#[test]
fn the_rest_is_exact_and_its_length_is_bounded() {
    for arrival in [Arrival::Constant, Arrival::Poisson] {
        let mut schedule = Schedule::new(arrival, Profile::constant(1e5), 3, ALONE);
        first(&mut schedule, 500);
        let rest: Vec<(u64, u64)> = schedule.rest(1_000_000_000).collect();
        let mut clone = schedule.clone();
        assert_eq!(rest.len() as u64, clone.skip_to(1_000_000_000));
        assert_eq!((rest[0], rest[7].1), ((schedule.peek(), 1), 1));
        assert_eq!(schedule.taken, 500);

        // An hour unsent at ten million a second.
        let schedule = Schedule::new(arrival, Profile::constant(1e7), 3, ALONE);
        let hour = 3_600_000_000_000;
        let (mut steps, mut count, mut weighted, mut last) = (0u64, 0u64, 0.0, 0);
        for (time, weight) in schedule.rest(hour) {
            assert!(time >= last && time < hour);
            (steps, count, last) = (steps + 1, count + weight, time);
            weighted += time as f64 * weight as f64;
        }
        assert!(steps <= 2 * EXACT_REST);
        assert!((count as f64 / 3.6e10 - 1.0).abs() < 1e-4, "{count}");
        assert!((weighted / count as f64 / (hour as f64 / 2.0) - 1.0).abs() < 1e-3);
    }
}

proptest! {
    #[test]
    fn times_never_go_back(rate in 0.01f64..1e7, seed: u64, threads in 1usize..8, extra in 0usize..50) {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            for share in shares(threads, threads + extra) {
                let mut schedule = Schedule::new(arrival, Profile::constant(rate), seed, share);
                let times = first(&mut schedule, 200);
                prop_assert!(times.is_sorted());
                prop_assert!(schedule.peek() >= times[199]);
            }
        }
    }
}

proptest! {
    #[test]
    fn a_thread_knows_its_part_of_a_number_of_requests(
        requests in 0u64..3000,
        (groups, group) in (1usize..4, 1usize..4),
        extra in 0usize..20,
        warmup_ns in 0u64..1_000_000_000,
        seed: u64,
    ) {
        let (threads, connections) = (groups * group, groups * group + extra);
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let mut sum = 0;
            for thread in 0..threads {
                let share = Share { thread, threads, connections, group };
                let schedule = Schedule::new(arrival, Profile::constant(1000.0), seed, share);
                prop_assert_eq!(schedule.part_of_end(), None);
                let mut schedule = schedule.end_after(requests, warmup_ns);
                let part = schedule.part_of_end().unwrap();
                schedule.skip_to(warmup_ns);
                let before = schedule.taken;
                schedule.skip_to(NEVER_NS as u64);
                prop_assert_eq!(schedule.taken - before, part);
                sum += part;
            }
            prop_assert_eq!(sum, requests);
        }
    }
}
