//! *When*: the intended times of requests, as pure arithmetic on a rate and a seed.
//!
//! A schedule knows no clock and no past: it never shifts, never catches up, and rounds to a nanosecond and nothing
//! coarser. Each load thread has its own [`Schedule`]; together they are the schedule of the run. Times are nanoseconds
//! since the load began.
//!
//! With equal gaps request k of the run is due at k / rate, a closed form in which no error can add up. The requests are
//! dealt to the threads as the connections are, k modulo connections modulo threads, so each thread's part is as evenly
//! spread as the whole. With exponential gaps each thread draws its own Poisson process at its share of the rate: the
//! sum of independent Poisson processes is the Poisson process of the sum of their rates.

use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};
use serde::{Deserialize, Serialize};

/// The arrival process of an open loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Arrival {
    /// Equal gaps.
    Constant,
    /// Exponential gaps: independent users.
    Poisson,
}

/// Which part of the run one load thread has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Share {
    /// Its number, below `threads`.
    pub thread: usize,
    /// Load threads in all, at most `connections`.
    pub threads: usize,
    /// Connections of the whole run.
    pub connections: usize,
}

impl Share {
    /// Connections of this thread: an even part, and the first threads take what is left over.
    pub fn own(&self) -> usize {
        self.connections / self.threads + usize::from(self.thread < self.connections % self.threads)
    }

    /// Connections of the threads before this one.
    pub fn before(&self) -> usize {
        self.connections / self.threads * self.thread + self.thread.min(self.connections % self.threads)
    }

    /// How many times this thread's connections go into all.
    fn part(&self) -> f64 {
        self.connections as f64 / self.own() as f64
    }

    /// The number in the whole run of this thread's connection `index`, counted from 0.
    pub fn global(&self, index: usize) -> usize {
        index * self.threads + self.thread
    }
}

/// The intended times of one load thread, in order. A plain value: a clone goes on from the same place by itself.
#[derive(Debug, Clone)]
pub struct Schedule {
    next: f64,
    taken: u64,
    process: Process,
}

#[derive(Debug, Clone)]
enum Process {
    Constant { rate: f64, share: Share, cycle: u64, place: u64 },
    Poisson { mean_ns: f64, random: Xoshiro256PlusPlus },
}

/// Unsent requests up to which [`Schedule::rest`] gives each its exact time; so many more sent nothing for seconds.
const EXACT_REST: u64 = 1 << 20;

impl Schedule {
    /// The schedule of one thread at `rate` requests per second over all threads.
    pub fn new(arrival: Arrival, rate: f64, seed: u64, share: Share) -> Self {
        let process = match arrival {
            Arrival::Constant => Process::Constant { rate, share, cycle: 0, place: 0 },
            Arrival::Poisson => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                // 2^128 draws apart: no thread's gaps are another's.
                (0..share.thread).for_each(|_| random.jump());
                Process::Poisson { mean_ns: 1e9 / rate * share.part(), random }
            }
        };
        let mut schedule = Self { next: 0.0, taken: 0, process };
        match &mut schedule.process {
            Process::Constant { rate, share, .. } => schedule.next = due(share.thread as u64, *rate),
            Process::Poisson { mean_ns, random } => schedule.next = gap(*mean_ns, random),
        }
        schedule
    }

    /// The intended time of the next request.
    #[inline]
    pub fn peek(&self) -> u64 {
        // Half up, and not `round`, which is a library call on baseline x86-64.
        (self.next + 0.5) as u64
    }

    /// How many were taken so far.
    pub fn taken(&self) -> u64 {
        self.taken
    }

    /// Takes the next request: its intended time.
    #[inline]
    pub fn take(&mut self) -> u64 {
        let intended = self.peek();
        self.taken += 1;
        match &mut self.process {
            Process::Constant { rate, share, cycle, place } => {
                *place += 1;
                if *place == share.own() as u64 {
                    *place = 0;
                    *cycle += share.connections as u64;
                }
                self.next = due(*cycle + *place * share.threads as u64 + share.thread as u64, *rate);
            }
            Process::Poisson { mean_ns, random } => self.next += gap(*mean_ns, random),
        }
        intended
    }

    /// Takes all requests due before `end`; returns how many there were.
    pub fn skip_to(&mut self, end: u64) -> u64 {
        let before = self.taken;
        while self.peek() < end {
            self.take();
        }
        self.taken - before
    }

    /// What is left before `end`, as pairs of an intended time and how many requests it stands for.
    ///
    /// Exact one by one up to a million. A backlog beyond that is a target hopelessly behind, and what remains of it is
    /// given in equal steps with the expected number in each: the quantiles are the same and a run still ends on time.
    pub fn rest(&self, end: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let mut exact = self.clone();
        let mut left = EXACT_REST;
        let mut bulk = None;
        std::iter::from_fn(move || {
            if left > 0 {
                left -= 1;
                return (exact.peek() < end).then(|| (exact.take(), 1));
            }
            bulk.get_or_insert_with(|| exact.bulk(end)).next()
        })
    }

    fn bulk(&self, end: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let start = self.peek().min(end);
        let length = (end - start) as f64;
        let count = (length / self.mean_gap()).round() as u64;
        let steps = count.min(EXACT_REST);
        let edge = move |i: u64| (u128::from(count) * u128::from(i) / u128::from(steps)) as u64;
        (0..steps).map(move |i| {
            let middle = start + (length * (i as f64 + 0.5) / steps as f64) as u64;
            (middle, edge(i + 1) - edge(i))
        })
    }

    /// Mean gap of this thread's requests, in nanoseconds.
    fn mean_gap(&self) -> f64 {
        match &self.process {
            Process::Constant { rate, share, .. } => 1e9 / rate * share.part(),
            Process::Poisson { mean_ns, .. } => *mean_ns,
        }
    }
}

/// When request `k` of the run is due, in nanoseconds. `k / rate` is rounded once and scaled once: after an hour the
/// error is below a thousandth of a nanosecond.
#[inline]
fn due(k: u64, rate: f64) -> f64 {
    k as f64 / rate * 1e9
}

/// One exponential gap by inversion; the 53-bit number is in (0, 1], so the logarithm is finite.
#[inline]
fn gap(mean_ns: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    let unit = ((random.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
    -unit.ln() * mean_ns
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shares(threads: usize, connections: usize) -> impl Iterator<Item = Share> {
        (0..threads).map(move |thread| Share { thread, threads, connections })
    }

    fn first(schedule: &mut Schedule, count: usize) -> Vec<u64> {
        (0..count).map(|_| schedule.take()).collect()
    }

    const ALONE: Share = Share { thread: 0, threads: 1, connections: 1 };

    #[test]
    fn equal_gaps_are_the_closed_form_for_hours() {
        for rate in [1u64, 3, 7, 1_000, 20_000, 999_983, 1_000_000] {
            let exact = |k: u64| ((u128::from(k) * 1_000_000_000 + u128::from(rate) / 2) / u128::from(rate)) as u64;
            let mut schedule = Schedule::new(Arrival::Constant, rate as f64, 1, ALONE);
            for k in 0..50_000 {
                assert_eq!(schedule.take(), exact(k), "request {k} at {rate}/s");
            }
            // Ten hours on.
            for k in (36_000 * rate)..(36_000 * rate + 1000) {
                assert!(((due(k, rate as f64) + 0.5) as u64).abs_diff(exact(k)) <= 1, "request {k} at {rate}/s");
            }
        }
    }

    #[test]
    fn the_parts_of_all_threads_are_the_schedule_of_one() {
        for (threads, connections) in [(1, 1), (2, 2), (2, 100), (3, 100), (4, 7), (7, 7), (16, 1000)] {
            let mut whole = Schedule::new(Arrival::Constant, 12_345.0, 1, ALONE);
            let mut union: Vec<u64> = shares(threads, connections)
                .flat_map(|share| {
                    let mut part = Schedule::new(Arrival::Constant, 12_345.0, 1, share);
                    let n = share.own() * 20;
                    first(&mut part, n)
                })
                .collect();
            union.sort_unstable();
            assert_eq!(union, first(&mut whole, connections * 20), "{threads} threads, {connections} connections");
        }
    }

    #[test]
    fn each_thread_has_its_even_part_of_the_connections() {
        let all: Vec<usize> = shares(3, 11).map(|share| share.own()).collect();
        assert_eq!(all, [4, 4, 3]);
        assert_eq!(shares(3, 11).map(|share| share.before()).collect::<Vec<_>>(), [0, 4, 8]);
        let mut numbers: Vec<usize> =
            shares(3, 11).flat_map(|share| (0..share.own()).map(move |i| share.global(i))).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..11).collect::<Vec<_>>());
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
    fn poisson_gaps_are_exponential_for_each_thread_and_for_all_together() {
        const N: usize = 20_000;
        // P(D > 1.95 / sqrt n) is one in a thousand; the seeds are fixed, so this passes or fails for good.
        let bound = 1.95 / (N as f64).sqrt();
        let gaps = |times: &[u64]| times.windows(2).map(|w| (w[1] - w[0]) as f64).collect::<Vec<_>>();
        for seed in [0, 1, 42, 1 << 40, u64::MAX] {
            let mut union = Vec::new();
            for share in shares(3, 10) {
                let mean = 1e9 / 5_000.0 * 10.0 / share.own() as f64;
                let mut schedule = Schedule::new(Arrival::Poisson, 5_000.0, seed, share);
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
    fn a_seed_is_a_schedule() {
        for share in shares(2, 4) {
            let of = |seed| first(&mut Schedule::new(Arrival::Poisson, 1e4, seed, share), 1000);
            assert_eq!(of(9), of(9));
            assert_ne!(of(9), of(10));
        }
        let [a, b] = [0, 1].map(|thread| {
            let share = Share { thread, threads: 2, connections: 2 };
            first(&mut Schedule::new(Arrival::Poisson, 1e4, 9, share), 1000)
        });
        assert_ne!(a, b);
    }

    #[test]
    fn the_rest_is_exact_and_stays_bounded_when_it_is_huge() {
        for arrival in [Arrival::Constant, Arrival::Poisson] {
            let mut schedule = Schedule::new(arrival, 1e5, 3, ALONE);
            first(&mut schedule, 500);
            let rest: Vec<(u64, u64)> = schedule.rest(1_000_000_000).collect();
            let mut clone = schedule.clone();
            assert_eq!(rest.len() as u64, clone.skip_to(1_000_000_000));
            assert_eq!((rest[0], rest[7].1), ((schedule.peek(), 1), 1));
            assert_eq!(schedule.taken(), 500);

            // An hour unsent at ten million a second.
            let schedule = Schedule::new(arrival, 1e7, 3, ALONE);
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
                    let mut schedule = Schedule::new(arrival, rate, seed, share);
                    let times = first(&mut schedule, 200);
                    prop_assert!(times.is_sorted());
                    prop_assert!(schedule.peek() >= times[199]);
                }
            }
        }
    }
}
