//! `cpu`: arithmetic in registers.
//!
//! An operation is one multiplication and one addition, half of them of 64-bit integers and half of 64-bit floating point.
//! Each type has four independent chains, so that more than one unit of the core is busy.

use crate::dose::WorkTime;
use crate::error::StressError;
use crate::resource::{Figure, Other, Resource, Worker};
use crate::stop::Stop;
use std::hint::black_box;

const CHAINS: usize = 4;

/// Of one step, which takes some ten microseconds.
const ITERATIONS: u64 = 5_000;

pub(crate) struct Cpu;

impl Resource for Cpu {
    fn figure(&self) -> Figure {
        Figure { resource: "cpu", unit: "operations", other: Other::Nothing, work_time: WorkTime::Cpu }
    }

    fn worker(&self, index: usize, _: &Stop) -> Result<Box<dyn Worker + '_>, StressError> {
        Ok(Box::new(Chains { integers: [index as u64; CHAINS], floats: [1.0; CHAINS] }))
    }
}

struct Chains {
    integers: [u64; CHAINS],
    floats: [f64; CHAINS],
}

impl Worker for Chains {
    fn step(&mut self) -> Result<u64, StressError> {
        // The factors are unknown to the compiler. The sums converge to 10^6, which is never a subnormal number.
        let (factor, scale) = black_box((6_364_136_223_846_793_005_u64, 0.999_999_f64));
        let (mut integers, mut floats) = (self.integers, self.floats);
        for _ in 0..ITERATIONS {
            integers = integers.map(|number| number.wrapping_mul(factor).wrapping_add(1));
            floats = floats.map(|number| number * scale + 1.0);
        }
        (self.integers, self.floats) = black_box((integers, floats));
        Ok(ITERATIONS * 2 * CHAINS as u64)
    }
}
