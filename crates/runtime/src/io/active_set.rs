//! An estimate of the number of connections that are active on a worker, which tells a few from many.

use crate::slab::Key;

/// Turns between two resets: a connection counts as active for one to two periods after its last data.
const PERIOD: u64 = 16;

/// Recently active connections, a bit each by slot number plus generation, so short ones in the same slot count as many.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveSet {
    now: u64,
    before: u64,
    few: u32,
}

impl ActiveSet {
    /// `few` is the largest number that counts as few; with 64 or more, any number does.
    pub fn new(few: u32) -> Self {
        Self { now: 0, before: 0, few }
    }

    /// Marks a connection on which data arrived.
    #[inline]
    pub fn insert(&mut self, key: Key) {
        self.now |= 1 << (key.index.wrapping_add(key.generation) & 63);
    }

    #[inline]
    pub fn begin_turn(&mut self, turns: u64) {
        if turns.is_multiple_of(PERIOD) {
            (self.now, self.before) = (0, self.now);
        }
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
        let mut turns = |range: std::ops::Range<u64>, few_on_the_way: bool, key: fn(u32) -> Key| {
            for turn in range {
                active.begin_turn(turn);
                active.insert(key(turn as u32));
                assert!(!few_on_the_way || active.is_few(), "turn {turn}");
            }
            active.is_few()
        };
        assert!(turns(1..100, true, |turn| Key { index: turn % 2, generation: 1 }));
        assert!(!turns(100..110, false, |turn| Key { index: turn, generation: 1 }));
        assert!(turns(110..150, false, |_| Key { index: 7, generation: 1 }));
        assert!(!turns(150..160, false, |turn| Key { index: 7, generation: turn }));
    }
}
