//! Random numbers for tests; the seed is printed.

use std::time::{SystemTime, UNIX_EPOCH};

/// Marsaglia's xorshift.
pub struct Random(u32);

impl Random {
    pub fn new() -> Self {
        let seed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().subsec_nanos() | 1;
        println!("seed {seed}");
        Self(seed)
    }

    pub fn below(&mut self, most: u32) -> u32 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 17;
        self.0 ^= self.0 << 5;
        self.0 % most
    }
}
