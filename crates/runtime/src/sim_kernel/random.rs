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

/// A sum of bytes, by which memory is compared with itself and one run with another. Long memory is sampled: each of its words
/// would cost as much as a request.
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let add = |sum: u64, word: u64| (sum.rotate_left(5) ^ word).wrapping_mul(0x517c_c1b7_2722_0a95);
    let (words, rest) = bytes.as_chunks::<8>();
    let step = (words.len() / 64).max(1);
    let (mut sum, mut nth) = (bytes.len() as u64, 0);
    while let Some(word) = words.get(nth) {
        sum = add(sum, u64::from_le_bytes(*word));
        nth += step;
    }
    mix(rest.iter().fold(sum, |sum, byte| add(sum, (*byte).into())))
}
