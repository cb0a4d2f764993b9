//! Intended times of requests, in nanoseconds since the load began: a pure function of the offered rate and the seed.
//!
//! A schedule never shifts or catches up, and rounds to a nanosecond. Each load thread has its own [`Schedule`]; together
//! they are the schedule of the run.
//!
//! With constant gaps, request k of the run is due when the [`Profile`] has offered k, at a constant rate at k / rate: a closed
//! form without accumulating error. Request k belongs to
//! connection k modulo connections; see [`Share`]. The threads of a group have equally spaced parts; with several groups, the
//! threads of one send while the others sleep. With exponential gaps, each thread draws a Poisson process at its share of the rate: the sum of independent Poisson
//! processes is the Poisson process of the sum of their rates.

mod end;
mod openings;
mod profile;
mod share;
mod tick;

pub use brunt_spec::Arrival;
use end::End;
pub use openings::{Change, changes};
use profile::NEVER_NS;
pub(crate) use profile::half_up;
pub use profile::{Profile, Stage, Step};
pub use share::{Numbers, Share};
use tick::Tick;

use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

/// The intended times of one load thread, in order.
#[derive(Debug, Clone)]
pub struct Schedule {
    profile: Profile,
    /// The number in the run of the next request, or the same in a Poisson process of rate 1; and when it is due.
    number: f64,
    next_ns: f64,
    pub taken: u64,
    share: Share,
    process: Process,
    end: End,
    tick: Tick,
}

#[derive(Debug, Clone)]
enum Process {
    Constant(Numbers),
    Poisson { random: Xoshiro256PlusPlus },
}

/// Number of requests to which [`Schedule::rest`] gives exact times.
const EXACT_REST: u64 = 1 << 20;

impl Schedule {
    /// The schedule of one thread; `profile` is of all threads.
    pub fn new(arrival: Arrival, profile: Profile, seed: u64, share: Share) -> Self {
        let process = match arrival {
            Arrival::Constant => Process::Constant(Numbers::new(share)),
            Arrival::Poisson => {
                let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
                // Sequences 2^128 draws apart: threads have different gaps.
                (0..share.thread).for_each(|_| random.jump());
                Process::Poisson { random }
            }
        };
        let mut schedule = Self {
            profile,
            number: 0.0,
            next_ns: 0.0,
            taken: 0,
            share,
            process,
            end: End::Never,
            tick: Tick::default(),
        };
        schedule.number = match &mut schedule.process {
            Process::Constant(numbers) => numbers.current() as f64,
            Process::Poisson { random } => gap(share.mean_gap(), random),
        };
        schedule.next_ns = schedule.profile.due_ns(schedule.number);
        schedule
    }

    /// Ends after so many `requests` of the run that are due at or after `from_ns`; nothing is taken yet. With constant gaps
    /// they are the first of the run. In a Poisson process each thread has a part by its share of the rate.
    #[must_use]
    pub fn end_after(mut self, requests: u64, from_ns: u64) -> Self {
        self.end = match self.process {
            Process::Constant(_) => {
                let first = self.profile.first_from(from_ns);
                let end = first + requests as f64;
                // The same on all threads, so that their parts add up.
                let last = (first as u64).saturating_add(requests);
                End::Number { end, own: self.share.numbers_below(last) - self.share.numbers_below(first as u64) }
            }
            Process::Poisson { .. } => End::Left { requests: self.share.part_of(requests), from_ns },
        };
        self.skip_to_end();
        self
    }

    /// This thread's part of the requests of [`Self::end_after`], as long as none is taken; `None` of a schedule without an end.
    pub fn part_of_end(&self) -> Option<u64> {
        self.end.own()
    }

    /// Requests are sent at multiples of so many nanoseconds after the load began.
    #[must_use]
    pub fn at_ticks(mut self, tick_ns: u64) -> Self {
        self.tick = Tick(tick_ns);
        self
    }

    /// When a request of this intended time is to be sent.
    #[inline]
    pub fn due(&self, intended: u64) -> u64 {
        self.tick.due(intended)
    }

    /// If there is no further request, it is due never.
    #[inline]
    fn skip_to_end(&mut self) {
        if self.end.is_before(self.number) {
            self.next_ns = NEVER_NS;
        }
    }

    #[inline]
    pub fn peek(&self) -> u64 {
        half_up(self.next_ns)
    }

    /// Takes the next request and returns its intended time.
    #[inline]
    pub fn take(&mut self) -> u64 {
        let intended = self.peek();
        self.taken += 1;
        self.end.take(intended);
        match &mut self.process {
            Process::Constant(numbers) => {
                numbers.advance();
                self.number = numbers.current() as f64;
            }
            Process::Poisson { random } => self.number += gap(self.share.mean_gap(), random),
        }
        self.next_ns = self.profile.due_ns(self.number);
        self.skip_to_end();
        intended
    }

    /// Takes all requests due before `end` and returns their number.
    pub fn skip_to(&mut self, end: u64) -> u64 {
        let before = self.taken;
        while self.peek() < end {
            self.take();
        }
        self.taken - before
    }

    /// The requests left that are to be sent before `end`, as pairs of an intended time and the number of requests at it.
    ///
    /// The first million are exact. Of a larger backlog, the rest is in equal steps with the expected number in each: the
    /// quantiles are the same and the run ends in time.
    pub fn rest(&self, end: u64) -> impl Iterator<Item = (u64, u64)> + use<> {
        let mut exact = self.clone();
        let end = self.tick.intended_before(end);
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
        let profile = self.profile.clone();
        let first = profile.requests(start as f64);
        let last = self.end.cut(profile.requests(end as f64)).max(first);
        let count = self.end.most().min(((last - first) / self.share.mean_gap()).round() as u64);
        let steps = count.min(EXACT_REST);
        let edge = move |i: u64| (u128::from(count) * u128::from(i) / u128::from(steps)) as u64;
        (0..steps).map(move |i| {
            let middle = profile.due_ns(first + (last - first) * (i as f64 + 0.5) / steps as f64);
            ((middle as u64).clamp(start, end - 1), edge(i + 1) - edge(i))
        })
    }
}

/// An exponential gap by inversion; the 53-bit number is in (0, 1], so the logarithm is finite.
#[inline]
fn gap(mean: f64, random: &mut Xoshiro256PlusPlus) -> f64 {
    let unit = ((random.next_u64() >> 11) + 1) as f64 * (1.0 / (1u64 << 53) as f64);
    -unit.ln() * mean
}

#[cfg(test)]
mod tests;
