//! Times in which a host of the target could not be connected to: from the first failed attempt to the next that succeeds.
//!
//! Attempts of all threads count, so that one that succeeds ends it for all. Without a failed attempt nothing is written, and an
//! attempt that succeeds reads one flag.

use serde::{Deserialize, Serialize};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard};

/// The shortest that is kept: of a listener whose queue is full, some attempts fail while others succeed.
const LEAST_NS: u64 = 10_000_000;
/// Most that are kept.
const MOST: usize = 100;

/// Times are those of the run's clock, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outage {
    /// Number of the host.
    pub host: usize,
    pub from_ns: u64,
    /// `u64::MAX` while it lasts.
    pub until_ns: u64,
    /// Attempts that failed.
    pub failed: u64,
}

#[derive(Debug, Default)]
pub struct Outages {
    is_down: AtomicBool,
    /// Whether those of another process were added.
    is_joined: AtomicBool,
    all: Mutex<Vec<Outage>>,
}

impl Outages {
    fn locked(&self) -> MutexGuard<'_, Vec<Outage>> {
        self.all.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// An attempt to connect to `host` has failed now.
    #[cold]
    pub fn failed(&self, host: usize, now_ns: u64) {
        let mut all = self.locked();
        let has_room = all.len() < MOST;
        match all.iter_mut().find(|outage| outage.host == host && outage.until_ns == u64::MAX) {
            Some(outage) => outage.failed += 1,
            None if has_room => {
                all.push(Outage { host, from_ns: now_ns, until_ns: u64::MAX, failed: 1 });
                self.is_down.store(true, Relaxed);
            }
            None => (),
        }
    }

    /// A connection to `host` has been opened now.
    #[inline]
    pub fn opened(&self, host: usize, now_ns: impl FnOnce() -> u64) {
        if self.is_down.load(Relaxed) {
            self.end(host, now_ns());
        }
    }

    #[cold]
    fn end(&self, host: usize, now_ns: u64) {
        let mut all = self.locked();
        for outage in all.iter_mut().filter(|outage| outage.host == host && outage.until_ns == u64::MAX) {
            outage.until_ns = now_ns;
        }
        all.retain(|outage| outage.until_ns.saturating_sub(outage.from_ns) >= LEAST_NS);
        self.is_down.store(all.iter().any(|outage| outage.until_ns == u64::MAX), Relaxed);
    }

    pub fn take(&self) -> Vec<Outage> {
        std::mem::take(&mut self.locked())
    }

    /// Adds those of another process: its first ones, or else what both have seen.
    pub fn join(&self, other: Vec<Outage>) {
        let mut all = self.locked();
        *all = if self.is_joined.swap(true, Relaxed) { common(&all, &other) } else { other };
    }
}

/// The times that are in both.
fn common(one: &[Outage], other: &[Outage]) -> Vec<Outage> {
    let pairs = one.iter().flat_map(|one| other.iter().map(move |other| (one, other)));
    let both = pairs.filter(|(one, other)| one.host == other.host).map(|(one, other)| Outage {
        host: one.host,
        from_ns: one.from_ns.max(other.from_ns),
        until_ns: one.until_ns.min(other.until_ns),
        failed: one.failed + other.failed,
    });
    both.filter(|both| both.until_ns.saturating_sub(both.from_ns) >= LEAST_NS).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    fn outage(host: usize, from_ms: u64, until_ms: u64, failed: u64) -> Outage {
        Outage { host, from_ns: from_ms * MS, until_ns: until_ms.saturating_mul(MS), failed }
    }

    #[test]
    fn the_first_that_fails_begins_it_and_the_first_that_succeeds_ends_it() {
        let outages = Outages::default();
        outages.opened(0, || unreachable!("nothing has failed"));
        for (host, at) in [(0, 100), (1, 110), (0, 200)] {
            outages.failed(host, at * MS);
        }
        outages.opened(0, || 300 * MS);
        outages.opened(0, || 400 * MS);
        // Shorter than what is kept.
        outages.failed(0, 500 * MS);
        outages.opened(0, || 505 * MS);
        assert_eq!(outages.take(), [outage(0, 100, 300, 2), Outage { until_ns: u64::MAX, ..outage(1, 110, 0, 1) }]);
    }

    #[test]
    fn no_more_than_a_number_are_kept() {
        let outages = Outages::default();
        for number in 0..1000 {
            outages.failed(0, number * 100 * MS);
            outages.opened(0, || (number * 100 + 50) * MS);
        }
        assert_eq!(outages.take().len(), MOST);
    }

    #[test]
    fn of_several_processes_it_is_what_all_have_seen() {
        let outages = Outages::default();
        outages.join(vec![outage(0, 100, 300, 1), outage(0, 500, 700, 1), outage(1, 0, 50, 1)]);
        outages.join(vec![outage(0, 150, 600, 2), outage(1, 60, 90, 1)]);
        assert_eq!(outages.take(), [outage(0, 150, 300, 3), outage(0, 500, 600, 3)]);
    }
}
