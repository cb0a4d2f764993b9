//! How many connections talk to a worker at present, roughly: enough to tell a few from many.

use crate::slab::Key;

/// Turns after which a connection that has fallen silent is forgotten: between one and two of these periods.
const PERIOD: u64 = 16;

/// Connections seen lately, one bit for each, by slot number and generation modulo 64: those that come and go in one slot
/// are many.
#[derive(Debug, Clone, Copy)]
pub(super) struct ActiveSet {
    now: u64,
    before: u64,
    few: u32,
}

impl ActiveSet {
    /// Up to `few` connections are few; 64 or more are however many there be.
    pub fn new(few: u32) -> Self {
        Self { now: 0, before: 0, few }
    }

    /// Data arrived on this connection.
    #[inline]
    pub fn insert(&mut self, key: Key) {
        self.now |= 1 << (key.index.wrapping_add(key.generation) & 63);
    }

    /// A turn begins.
    #[inline]
    pub fn turn(&mut self, turns: u64) {
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
    fn few_are_told_from_many_and_the_silent_are_forgotten() {
        let mut active = ActiveSet::new(2);
        let key = |index| Key { index, generation: 1 };
        for turn in 1..100 {
            active.turn(turn);
            active.insert(key(turn as u32 % 2));
            assert!(active.is_few(), "turn {turn}");
        }
        for turn in 100..110 {
            active.turn(turn);
            active.insert(key(turn as u32));
        }
        assert!(!active.is_few());
        for turn in 110..150 {
            active.turn(turn);
            active.insert(key(7));
        }
        assert!(active.is_few());
        for turn in 150..160 {
            active.turn(turn);
            active.insert(Key { index: 7, generation: turn as u32 });
        }
        assert!(!active.is_few());
    }
}
