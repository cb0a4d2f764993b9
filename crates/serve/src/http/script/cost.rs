//! What calls cost, counted by each worker for itself and added up by whoever asks.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// How many classes of duration are counted.
pub const BUCKETS: usize = 24;

/// Below this power of two, in nanoseconds, lies the first class.
const FIRST: u32 = 8;

/// The upper end of a class, exclusive: 256 ns for the first, then twice as much for each; the last class has none.
pub fn bound(bucket: usize) -> Option<Duration> {
    (bucket + 1 < BUCKETS).then(|| Duration::from_nanos(1 << (FIRST + bucket as u32)))
}

fn bucket(nanos: u64) -> usize {
    let bits = u64::BITS - nanos.leading_zeros();
    (bits.saturating_sub(FIRST) as usize).min(BUCKETS - 1)
}

/// The cost of all calls so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stats {
    /// Calls made.
    pub calls: u64,
    /// Calls that failed, and were answered with 500.
    pub errors: u64,
    /// Time in calls.
    pub time: Duration,
    /// The longest call.
    pub longest: Duration,
    /// How many calls lasted less than [`bound`] of their class, and not less than that of the class before.
    pub buckets: [u64; BUCKETS],
}

/// The counters of one worker, which alone writes them.
#[derive(Debug, Default)]
pub(super) struct Cost {
    calls: AtomicU64,
    errors: AtomicU64,
    nanos: AtomicU64,
    longest: AtomicU64,
    buckets: [AtomicU64; BUCKETS],
}

impl Cost {
    /// Counts a call.
    pub fn add(&self, time: Duration, failed: bool) {
        let nanos = u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        // With one writer, a load and a store are as good as an atomic addition, and cheaper.
        let add = |counter: &AtomicU64, more: u64| counter.store(counter.load(Relaxed).wrapping_add(more), Relaxed);
        add(&self.calls, 1);
        add(&self.errors, u64::from(failed));
        add(&self.nanos, nanos);
        add(&self.buckets[bucket(nanos)], 1);
        if nanos > self.longest.load(Relaxed) {
            self.longest.store(nanos, Relaxed);
        }
    }
}

/// The counters of all workers.
#[derive(Debug, Default)]
pub(super) struct Ledger(Mutex<Vec<Arc<Cost>>>);

impl Ledger {
    /// Counters for one more worker.
    pub fn open(&self) -> Arc<Cost> {
        let cost = Arc::<Cost>::default();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::clone(&cost));
        cost
    }

    /// The sum.
    pub fn total(&self) -> Stats {
        let mut sum = Stats::default();
        for cost in self.0.lock().unwrap_or_else(PoisonError::into_inner).iter() {
            sum.calls += cost.calls.load(Relaxed);
            sum.errors += cost.errors.load(Relaxed);
            sum.time += Duration::from_nanos(cost.nanos.load(Relaxed));
            sum.longest = sum.longest.max(Duration::from_nanos(cost.longest.load(Relaxed)));
            for (total, part) in sum.buckets.iter_mut().zip(&cost.buckets) {
                *total += part.load(Relaxed);
            }
        }
        sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_duration_is_below_the_bound_of_its_class_and_not_below_the_one_before() {
        for nanos in (0..64).flat_map(|bits| [(1u64 << bits) - 1, 1 << bits, (1 << bits) + 1]).chain([u64::MAX]) {
            let class = bucket(nanos);
            let time = Duration::from_nanos(nanos);
            assert!(bound(class).is_none_or(|bound| time < bound), "{time:?} in class {class}");
            assert!(class == 0 || bound(class - 1).is_some_and(|bound| time >= bound), "{time:?} in class {class}");
        }
    }

    #[test]
    fn workers_add_up() {
        let ledger = Ledger::default();
        let (one, two) = (ledger.open(), ledger.open());
        one.add(Duration::from_nanos(100), false);
        one.add(Duration::from_micros(3), true);
        two.add(Duration::from_micros(1), false);
        let stats = ledger.total();
        assert_eq!((stats.calls, stats.errors), (3, 1));
        assert_eq!((stats.time, stats.longest), (Duration::from_nanos(4100), Duration::from_micros(3)));
        assert_eq!(stats.buckets.iter().sum::<u64>(), 3);
        assert_eq!((stats.buckets[0], stats.buckets[2], stats.buckets[4]), (1, 1, 1));
    }
}
