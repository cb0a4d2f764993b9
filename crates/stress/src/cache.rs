//! `cache`: reads and writes of cache lines within a working set.
//!
//! An access reads one line of 64 bytes and writes to it. The set is divided among the threads.

use crate::dose::WorkTime;
use crate::error::{StressError, usage};
use crate::random::Random;
use crate::resource::{Figure, Other, Resource, Worker};
use crate::room;
use crate::stop::Stop;
use crate::working_set::WorkingSet;
use brunt_results::Size;
use std::hint::black_box;

/// The order of the accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Each address is read from the line before, along a random cycle through all lines: one access at a time.
    Dependent,
    /// Independent random lines: as many accesses at a time as the core can have.
    Random,
    /// One line after the other, which prefetchers recognize.
    Sequential,
}

#[derive(Debug)]
pub struct Options {
    pub size: WorkingSet,
    pub order: Order,
}

/// Of one step: a quarter of a millisecond if every access waits 125 ns for memory.
const ACCESSES: u64 = 2_000;

/// Least memory of a thread.
const LEAST: u64 = 4096;

/// Lines between two looks at the stop while their order is drawn.
const LINES_AT_ONCE: u32 = 1 << 16;

pub(crate) struct Cache {
    order: Order,
    /// Of each thread.
    lines: u32,
    size: u64,
}

impl Cache {
    /// `core` is the one whose cache counts.
    pub(crate) fn new(options: &Options, threads: usize, core: usize) -> Result<Self, StressError> {
        let size = options.size.bytes(core)?;
        let each = size / threads as u64;
        if each < LEAST {
            return usage(format!(
                "--size {}: too small for --threads {threads}, of which each needs at least {}",
                Size(size),
                Size(LEAST)
            ));
        }
        room::check(size)?;
        let Ok(lines) = u32::try_from(each / size_of::<Line>() as u64) else {
            return usage(format!(
                "--size {}: a thread takes less than {}; choose more --threads",
                Size(size),
                Size(1 << 38)
            ));
        };
        Ok(Self { order: options.order, lines, size })
    }
}

impl Resource for Cache {
    fn figure(&self) -> Figure {
        Figure { resource: "cache", unit: "accesses", other: Other::Nothing, work_time: WorkTime::Cpu }
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn worker(&self, index: usize, stop: &Stop) -> Result<Box<dyn Worker + '_>, StressError> {
        let mut random = Random::new(index);
        let lines = lines(self.lines, self.order, &mut random, stop)?;
        Ok(Box::new(Accesses { lines, order: self.order, at: 0, random }))
    }
}

#[derive(Debug, Clone)]
#[repr(C, align(64))]
struct Line {
    /// Index of the line that follows in the cycle.
    next: u32,
    writes: u64,
}

/// The lines, touched, each with its successor.
fn lines(count: u32, order: Order, random: &mut Random, stop: &Stop) -> Result<Vec<Line>, StressError> {
    let mut lines = room::filled(count as usize, "cache lines", stop, |next| Line { next: next as u32, writes: 0 })?;
    if order == Order::Dependent {
        // Sattolo's algorithm: a permutation that is a single cycle.
        for last in (1..lines.len() as u32).rev() {
            if last % LINES_AT_ONCE == 0 && stop.is_stopped() {
                break;
            }
            let (last, other) = (last as usize, random.below(last) as usize);
            let next = lines[last].next;
            lines[last].next = std::mem::replace(&mut lines[other].next, next);
        }
    }
    Ok(lines)
}

struct Accesses {
    lines: Vec<Line>,
    order: Order,
    at: u32,
    random: Random,
}

impl Worker for Accesses {
    fn step(&mut self) -> Result<u64, StressError> {
        let count = self.lines.len() as u32;
        let mut at = self.at;
        for _ in 0..ACCESSES {
            let line = &mut self.lines[at as usize];
            line.writes += 1;
            at = match self.order {
                Order::Dependent => line.next,
                Order::Random => self.random.below(count),
                Order::Sequential if at + 1 < count => at + 1,
                Order::Sequential => 0,
            };
        }
        self.at = at;
        black_box(&mut self.lines);
        Ok(ACCESSES)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_cycle_visits_every_line_once(count in 2u32..5_000, seed: usize) {
            let lines = lines(count, Order::Dependent, &mut Random::new(seed), &Stop::new()).unwrap();
            let mut visited = vec![false; count as usize];
            let mut at = 0;
            for _ in 0..count {
                prop_assert!(!std::mem::replace(&mut visited[at as usize], true));
                at = lines[at as usize].next;
            }
            prop_assert_eq!(at, 0);
        }

        #[test]
        fn every_counted_access_wrote_to_a_line(count in 2u32..500, steps in 1usize..5) {
            for order in [Order::Dependent, Order::Random, Order::Sequential] {
                let mut random = Random::new(7);
                let lines = lines(count, order, &mut random, &Stop::new()).unwrap();
                let mut accesses = Accesses { lines, order, at: 0, random };
                let done: u64 = (0..steps).map(|_| accesses.step().unwrap()).sum();
                prop_assert_eq!(accesses.lines.iter().map(|line| line.writes).sum::<u64>(), done);
            }
        }
    }
}
