//! Random addresses: a linear congruential generator, of which the upper half is used.

pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: usize) -> Self {
        Self(seed as u64)
    }

    pub(crate) fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }

    /// A number below `bound`.
    pub(crate) fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(bound)) >> 32) as u32
    }
}
