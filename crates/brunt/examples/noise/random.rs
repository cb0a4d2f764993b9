//! Random numbers from a seed (SplitMix64).

use std::time::Duration;

pub struct Random(u64);

impl Random {
    /// Streams of the same seed are independent of each other.
    pub fn new(seed: u64, stream: u64) -> Self {
        let mut random = Self(seed);
        random.0 = random.next() ^ stream.wrapping_mul(0xd1b5_4a32_d192_ed03);
        random
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Uniform in `low..high`.
    pub fn within(&mut self, low: f64, high: f64) -> f64 {
        low + (high - low) * (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform, in milliseconds.
    pub fn time(&mut self, low: u32, high: u32) -> Duration {
        Duration::from_secs_f64(self.within(low.into(), high.into()) / 1e3)
    }

    /// One of these, which are not empty.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[(self.next() % of.len() as u64) as usize]
    }
}
