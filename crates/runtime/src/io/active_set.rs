//! An estimate of the number of connections that are active on a worker, which tells a few from many.

use crate::slab::Key;

/// Arrivals of data between two resets: a connection counts as active until 16 to 32 arrivals after its last. In turns of the
/// worker the count would depend on how many turns a connection takes.
const PERIOD: u32 = 16;

/// Recently active connections, a bit each by slot number plus generation, so short ones in the same slot count as many.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveSet {
    now: u64,
    before: u64,
    arrivals: u32,
    few: u32,
}

impl ActiveSet {
    /// `few` is the largest number that counts as few; with 64 or more, any number does.
    pub fn new(few: u32) -> Self {
        Self { now: 0, before: 0, arrivals: 0, few }
    }

    /// Marks a connection on which data arrived.
    #[inline]
    pub fn insert(&mut self, key: Key) {
        if self.arrivals == PERIOD {
            (self.now, self.before, self.arrivals) = (0, self.now, 0);
        }
        self.now |= 1 << (key.index.wrapping_add(key.generation) & 63);
        self.arrivals += 1;
    }

    pub fn is_few(&self) -> bool {
        (self.now | self.before).count_ones() <= self.few
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_and_many_active_connections_are_distinguished_and_silent_ones_expire() {
        let mut active = ActiveSet::new(2);
        let mut arrive = |range: std::ops::Range<u32>, few_on_the_way: bool, key: fn(u32) -> Key| {
            for arrival in range {
                active.insert(key(arrival));
                assert!(!few_on_the_way || active.is_few(), "arrival {arrival}");
            }
            active.is_few()
        };
        assert!(arrive(1..100, true, |arrival| Key { index: arrival % 2, generation: 1 }));
        assert!(!arrive(100..110, false, |arrival| Key { index: arrival, generation: 1 }));
        assert!(arrive(110..150, false, |_| Key { index: 7, generation: 1 }));
        assert!(!arrive(150..160, false, |arrival| Key { index: 7, generation: arrival }));
    }
}
