//! What happened in a world, as a digest and, if recorded, in words.
//!
//! Invariant: nothing of the machine enters it: no descriptor number, address in memory, worker number or real time.

use super::random::mix;
use std::{collections::VecDeque, fmt};

/// Entries kept for reports while nothing is recorded.
const RECENT: usize = 24;

/// One thing that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Entry {
    /// Nanoseconds since the start of the world.
    pub at: u64,
    /// What happened.
    pub what: &'static str,
    /// Number of the socket or worker.
    pub who: u32,
    /// Bytes, an errno or a count.
    pub value: i64,
}

impl fmt::Display for Entry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:>14.3} us  {} {} {}", self.at as f64 / 1000.0, self.what, self.who, self.value)
    }
}

#[derive(Default)]
pub(crate) struct Trace {
    digest: u64,
    pub count: u64,
    pub recording: bool,
    entries: VecDeque<Entry>,
}

impl Trace {
    #[inline]
    pub fn note(&mut self, at: u64, what: &'static str, who: u32, value: i64) {
        // The first letters and the length tell the kinds apart.
        let name = what.as_bytes();
        let kind = u64::from(name[0]) << 8 | u64::from(name[name.len() - 1]) << 16 | name.len() as u64;
        self.digest = mix(self.digest ^ at).wrapping_add(kind ^ u64::from(who) << 24 ^ (value as u64).rotate_left(40));
        self.count += 1;
        if !self.recording && self.entries.len() == RECENT {
            self.entries.pop_front();
        }
        self.entries.push_back(Entry { at, what, who, value });
    }

    /// Adds a sum of bytes to the digest.
    pub fn note_sum(&mut self, sum: u64) {
        self.digest = mix(self.digest ^ sum);
    }

    pub fn digest(&self) -> u64 {
        mix(self.digest ^ self.count)
    }

    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter()
    }
}
