//! Random numbers of tests, from a seed.

/// Marsaglia, "Xorshift RNGs", 2003.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    /// The same seed gives the same numbers.
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// From `BRUNT_SEED`, or a new seed, which is printed: output of tests that fail is shown.
    pub fn from_environment() -> Self {
        let now = || std::time::UNIX_EPOCH.elapsed().map_or(0, |since| u64::from(since.subsec_nanos()));
        let seed = crate::number("BRUNT_SEED").unwrap_or_else(now);
        println!("again with BRUNT_SEED={seed}");
        Self::new(seed)
    }

    /// A number below `end`.
    pub fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % end
    }
}
