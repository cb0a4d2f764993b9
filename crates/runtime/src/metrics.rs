//! What a worker has done, in counters: its own are plain numbers, and it copies them for other threads once a turn while
//! anybody holds a handle.
//!
//! Must never cost a turn more than one look at whether there is a handle when there is none, nor a locked instruction.

use crate::executor::Worker;
use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

/// Classes of turns in [`Metrics::batches`].
const BATCHES: usize = 12;

macro_rules! metrics {
    ($($(#[$doc:meta])* pub $name:ident: u64,)*) => {
        /// A copy of a worker's counters since it began. All are totals, save those that say "now".
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        #[non_exhaustive]
        pub struct Metrics {
            $($(#[$doc])* pub $name: u64,)*
            /// Time spent spinning in vain or not, instead of sleeping.
            pub spin_time: Duration,
            /// Turns by how many events they brought: none, 1, 2 to 3, 4 to 7, and so on in powers of two; the last one
            /// counts all turns with 1024 or more.
            pub batches: [u64; BATCHES],
        }

        /// The copy for other threads. Written by the worker alone.
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
    /// Spins that were rewarded by an event.
    pub spin_hits: u64,
    /// Spins that ended in sleep all the same.
    pub spin_misses: u64,
    /// Connections open now.
    pub connections: u64,
    /// Tasks alive now.
    pub tasks: u64,
    /// Timers alive now: sleeps and timeouts that somebody waits for.
    pub timers: u64,
    /// Tasks that ended in a panic.
    pub panicked_tasks: u64,
}

impl Metrics {
    /// A turn has brought that many events.
    #[inline]
    pub(crate) fn count_batch(&mut self, events: u64) {
        let class = (u64::BITS - events.leading_zeros()) as usize;
        self.batches[class.min(BATCHES - 1)] += 1;
    }
}

/// The counters of one worker, for any thread. As long as one is held the worker keeps it up to date, once a turn.
#[derive(Clone)]
pub struct MetricsHandle(Arc<Block>);

impl MetricsHandle {
    /// The counters as of the worker's last trip to the kernel, without a lock and without disturbing it. Every counter is
    /// right by itself; two of them may be a turn apart. When the runtime is gone they are its last ones.
    pub fn read(&self) -> Metrics {
        self.0.read()
    }
}

impl std::fmt::Debug for MetricsHandle {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("MetricsHandle").field(&self.read()).finish()
    }
}

/// The worker's end of its handles.
#[derive(Default)]
pub(crate) struct Published(Arc<Block>);

impl Worker {
    /// The counters as of now.
    pub fn metrics(&self) -> Metrics {
        let mut metrics = self.io().report();
        self.spin.borrow().report(&mut metrics);
        metrics.polls = self.polls.get();
        metrics.panicked_tasks = self.panicked_tasks.get();
        metrics.tasks = self.task_count() as u64;
        metrics.timers = self.timers().len() as u64;
        metrics
    }

    pub fn metrics_handle(&self) -> MetricsHandle {
        let handle = MetricsHandle(self.published.0.clone());
        self.publish();
        handle
    }

    /// Copies the counters for those who hold a handle, if anybody does. Nothing of the worker may be borrowed.
    #[inline]
    pub fn publish(&self) {
        if Arc::strong_count(&self.published.0) > 1 {
            self.copy_out();
        }
    }

    #[inline(never)]
    fn copy_out(&self) {
        self.published.0.write(&self.metrics());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_are_counted_by_the_size_of_their_batch() {
        let mut metrics = Metrics::default();
        for events in [0, 0, 1, 2, 3, 4, 7, 8, 1023, 1024, 2047, 1 << 40, u64::MAX] {
            metrics.count_batch(events);
        }
        assert_eq!(metrics.batches, [2, 1, 2, 2, 1, 0, 0, 0, 0, 0, 1, 4]);
    }
}
