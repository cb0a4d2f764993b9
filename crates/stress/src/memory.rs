//! `memory`: streams through arrays of 64-bit floating point numbers, counted as STREAM counts them.
//!
//! An element of `copy`, `a[i] = b[i]`, is 16 bytes; one of `triad`, `a[i] = b[i] + q c[i]`, is 24. Caches read a line before
//! they write to it, so that the memory moves up to 3/2 and 4/3 of that. The set is divided among the threads.

use crate::dose::WorkTime;
use crate::error::{StressError, usage};
use crate::resource::{Figure, Other, Resource, Worker};
use crate::room::{self, Room};
use crate::stop::Stop;
use crate::working_set::{WorkingSet, last_level_cache};
use brunt_results::Size;
use std::hint::black_box;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kernel {
    Copy,
    Triad,
}

#[derive(Debug)]
pub struct Options {
    /// Over all threads and arrays. Default: four times the last-level cache, at most a quarter of the memory.
    pub size: Option<WorkingSet>,
    pub kernel: Kernel,
}

/// Elements of one step, some ten microseconds.
const ELEMENTS: usize = 4096;

/// Least memory of a thread.
const LEAST: u64 = 4096;

/// Default size on a machine that does not tell the size of its caches.
const WITHOUT_CACHE: u64 = 512 << 20;

impl Kernel {
    fn arrays(self) -> usize {
        match self {
            Self::Copy => 2,
            Self::Triad => 3,
        }
    }
}

pub(crate) struct Memory {
    kernel: Kernel,
    elements: usize,
    size: u64,
}

impl Memory {
    /// `core` is the one whose cache counts.
    pub(crate) fn new(options: &Options, threads: usize, core: usize) -> Result<Self, StressError> {
        let size = match options.size {
            Some(size) => size.bytes(core)?,
            None => default_size(last_level_cache(core).ok(), room::room()),
        };
        let each = size / threads as u64;
        if each < LEAST {
            return usage(format!(
                "--size {}: too small for --threads {threads}, of which each needs at least {}",
                Size(size),
                Size(LEAST)
            ));
        }
        room::check(size)?;
        let elements = each as usize / options.kernel.arrays() / size_of::<f64>();
        Ok(Self { kernel: options.kernel, elements, size })
    }
}

fn default_size(cache: Option<u64>, room: Option<Room>) -> u64 {
    let wanted = cache.map_or(WITHOUT_CACHE, |cache| 4 * cache);
    room.map_or(wanted, |room| wanted.min(room.bytes / 4))
}

impl Resource for Memory {
    fn figure(&self) -> Figure {
        Figure { resource: "memory", unit: "bytes", other: Other::Nothing, work_time: WorkTime::Cpu }
    }

    fn size(&self) -> Option<u64> {
        Some(self.size)
    }

    fn worker(&self, _: usize, stop: &Stop) -> Result<Box<dyn Worker + '_>, StressError> {
        let array = |value| room::filled(self.elements, "numbers", stop, |_| value);
        let c = if self.kernel == Kernel::Triad { array(2.0)? } else { Vec::new() };
        Ok(Box::new(Streams { kernel: self.kernel, a: array(0.0)?, b: array(1.0)?, c, at: 0 }))
    }
}

struct Streams {
    kernel: Kernel,
    a: Vec<f64>,
    b: Vec<f64>,
    c: Vec<f64>,
    /// First element of the next step.
    at: usize,
}

impl Worker for Streams {
    fn step(&mut self) -> Result<u64, StressError> {
        let range = self.at..self.a.len().min(self.at + ELEMENTS);
        let elements = range.len();
        self.at = if range.end == self.a.len() { 0 } else { range.end };
        let (a, b) = (&mut self.a[range.clone()], &self.b[range.clone()]);
        match self.kernel {
            Kernel::Copy => a.copy_from_slice(b),
            Kernel::Triad => {
                let factor = black_box(3.0);
                for ((a, b), c) in a.iter_mut().zip(b).zip(&self.c[range]) {
                    *a = *b + factor * *c;
                }
            }
        }
        black_box(a);
        Ok((elements * self.kernel.arrays() * size_of::<f64>()) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// As many bytes as one pass has change every element once.
        #[test]
        fn a_pass_over_the_set_counts_its_size(elements in 1usize..20_000, is_triad: bool) {
            let kernel = if is_triad { Kernel::Triad } else { Kernel::Copy };
            let array = |value| room::filled(elements, "numbers", &Stop::new(), |_| value).unwrap();
            let mut streams = Streams { kernel, a: array(0.0), b: array(1.0), c: array(2.0), at: 0 };
            let (mut bytes, size) = (0, (elements * kernel.arrays() * 8) as u64);
            while bytes < size {
                prop_assert!(streams.a.contains(&0.0));
                bytes += streams.step().unwrap();
            }
            prop_assert_eq!((bytes, streams.at), (size, 0));
            let expected = if is_triad { 7.0 } else { 1.0 };
            prop_assert!(streams.a.iter().all(|value| *value == expected));
        }
    }

    #[test]
    fn the_default_is_larger_than_the_cache_and_leaves_most_of_the_memory() {
        let room = |bytes| Some(Room { bytes, by: String::new() });
        assert_eq!(default_size(Some(32 << 20), room(8 << 30)), 128 << 20);
        assert_eq!(default_size(Some(32 << 20), room(256 << 20)), 64 << 20);
        assert_eq!(default_size(None, None), WITHOUT_CACHE);
    }
}
