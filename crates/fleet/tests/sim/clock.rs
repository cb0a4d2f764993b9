//! Clocks of machines, beside the true time of the world.

use brunt_fleet::SECOND_NS;
use brunt_testkit::Random;

/// CLOCK_MONOTONIC of a machine.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    offset: i64,
    ppb: i64,
}

impl Clock {
    /// Up to 1000 s and 50 ppm off.
    pub fn random(random: &mut Random) -> Self {
        let far = 1_000 * SECOND_NS;
        let offset = random.below(2 * far as u64 + 1) as i64 - far;
        Self { offset, ppb: random.below(100_001) as i64 - 50_000 }
    }

    /// What it reads at a true time.
    pub fn at(&self, truth: i64) -> i64 {
        self.offset + truth + (i128::from(truth) * i128::from(self.ppb)).div_euclid(i128::from(SECOND_NS)) as i64
    }

    /// The true time at which it reads this, to 2 ns.
    pub fn truth(&self, read: i64) -> i64 {
        let rate = i128::from(SECOND_NS + self.ppb);
        (i128::from(read - self.offset) * i128::from(SECOND_NS)).div_euclid(rate) as i64
    }

    /// A true time at which it reads this or later, less than 10 ns later.
    pub fn not_before(&self, read: i64) -> i64 {
        self.truth(read.min(i64::MAX / 4)) + 3
    }
}
