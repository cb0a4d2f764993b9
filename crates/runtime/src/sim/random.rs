//! The world's random numbers: SplitMix64, whose whole state is one word.

#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        let mut random = Self(seed ^ 0x5851_f42d_4c95_7f2d);
        random.next();
        random
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number below `limit`; 0 if that is 0.
    pub fn below(&mut self, limit: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(limit)) >> 64) as u64
    }

    /// True with that probability. Draws nothing if it is zero.
    pub fn happens(&mut self, probability: f64) -> bool {
        probability > 0.0 && (self.next() >> 11) as f64 * (1.0 / (1u64 << 53) as f64) < probability
    }
}

/// The finaliser of SplitMix64: every bit of the input changes about half of the output's.
pub(crate) fn mix(mut word: u64) -> u64 {
    word = (word ^ (word >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ (word >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ (word >> 31)
}
