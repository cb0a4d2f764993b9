//! What a worker has done, in counters.

use std::time::Duration;

/// A copy of a worker's counters since it began. All are totals.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Metrics {
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
    /// Times the kernel had no receive buffer left.
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
    /// Time spent spinning in vain or not, instead of sleeping.
    pub spin_time: Duration,
    /// Connections open now.
    pub connections: u64,
    /// Tasks alive now.
    pub tasks: u64,
}
