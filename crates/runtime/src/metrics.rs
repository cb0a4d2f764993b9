//! Counters of a worker: plain numbers, copied once a turn for other threads while a handle exists.
//!
//! Without a handle, a turn pays one load; with one, no locked instruction.

use std::{sync::Arc, sync::atomic::AtomicU64, sync::atomic::Ordering::Relaxed, time::Duration};

/// Buckets of [`Metrics::batches`].
const BATCHES: usize = 12;

macro_rules! metrics {
    ($($(#[$doc:meta])* pub $name:ident: u64,)*) => {
        /// A worker's counters: totals since its start, except those that say "now".
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Metrics {
            $($(#[$doc])* pub $name: u64,)*
            /// Time spent spinning.
            pub spin_time: Duration,
            /// Turns by number of events: 0, 1, 2 to 3, 4 to 7, and so on in powers of two, up to 1024 or more.
            pub batches: [u64; BATCHES],
        }

        /// The copy for other threads, written by the worker only.
        #[derive(Default)]
        #[repr(align(64))]
        struct Block {
            $($name: AtomicU64,)*
            spin_nanos: AtomicU64,
            batches: [AtomicU64; BATCHES],
        }

        impl Block {
            fn write(&self, from: &Metrics) {
                $(self.$name.store(from.$name, Relaxed);)*
                self.spin_nanos.store(from.spin_time.as_nanos() as u64, Relaxed);
                self.batches.iter().zip(from.batches).for_each(|(batch, turns)| batch.store(turns, Relaxed));
            }

            fn read(&self) -> Metrics {
                Metrics {
                    $($name: self.$name.load(Relaxed),)*
                    spin_time: Duration::from_nanos(self.spin_nanos.load(Relaxed)),
                    batches: std::array::from_fn(|batch| self.batches[batch].load(Relaxed)),
                }
            }
        }
    };
}

metrics! {
    /// Turns of the loop.
    pub turns: u64,
    /// Calls into the kernel to submit and wait (`io_uring_enter`, `epoll_wait`).
    pub enters: u64,
    /// Turns that went to sleep because nothing was ready.
    pub sleeps: u64,
    /// Events the kernel reported.
    pub events: u64,
    /// Requests submitted to the ring.
    pub submitted: u64,
    /// Polls of futures.
    pub polls: u64,
    /// Times the kernel had no receive buffer left (`ENOBUFS`).
    pub buffers_exhausted: u64,
    /// Receive buffers beyond the usual set that are out now: slow readers and peers hold the usual ones.
    pub spare_buffers: u64,
    /// Times the completion queue overflowed (nothing is lost, but it costs).
    pub completion_overflows: u64,
    /// Receives stopped because their reader was slow.
    pub backpressure: u64,
    /// Times accepting paused because the process or the system was out of descriptors or memory.
    pub accept_pauses: u64,
    /// Spins that ended with an event.
    pub spin_hits: u64,
    /// Spins that ended in a sleep.
    pub spin_misses: u64,
    /// Connections open now.
    pub connections: u64,
    /// Tasks alive now.
    pub tasks: u64,
    /// Timers alive now: sleeps and timeouts being awaited.
    pub timers: u64,
    /// Tasks that ended in a panic.
    pub panicked_tasks: u64,
}

impl Metrics {
    /// Counts a turn with that many events.
    #[inline]
    pub(crate) fn count_batch(&mut self, events: u64) {
        let bucket = (u64::BITS - events.leading_zeros()) as usize;
        self.batches[bucket.min(BATCHES - 1)] += 1;
    }
}

/// A reader of one worker's counters, for any thread. While one exists, the worker updates it once a turn.
#[derive(Clone)]
pub struct MetricsHandle(Arc<Block>);

impl MetricsHandle {
    /// The counters as of the worker's last turn, also after the runtime is dropped. Each is exact; two may be a turn apart.
    pub fn read(&self) -> Metrics {
        self.0.read()
    }
}

impl std::fmt::Debug for MetricsHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MetricsHandle").field(&self.read()).finish()
    }
}

/// The side of the worker, which has a handle of its own.
impl MetricsHandle {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    /// Copies the counters if another handle exists. Nothing of the worker may be borrowed.
    #[inline]
    pub(crate) fn publish(&self, metrics: impl FnOnce() -> Metrics) {
        if Arc::strong_count(&self.0) > 1 {
            self.write(metrics);
        }
    }

    #[inline(never)]
    fn write(&self, metrics: impl FnOnce() -> Metrics) {
        self.0.write(&metrics());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_by_batch_size() {
        let mut metrics = Metrics::default();
        for events in [0, 0, 1, 2, 3, 4, 7, 8, 1023, 1024, 2047, 1 << 40, u64::MAX] {
            metrics.count_batch(events);
        }
        assert_eq!(metrics.batches, [2, 1, 2, 2, 1, 0, 0, 0, 0, 0, 1, 4]);
    }
}
