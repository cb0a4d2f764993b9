//! What a world is like: its links, its socket buffers, what work costs, and its faults.

use std::time::Duration;

/// Settings of a [`World`](super::World). The default has a fixed delay, no bound on bandwidth and no fault, so every seed
/// gives the same run unless the program draws from [`World::random`](super::World::random).
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Between every two TCP and UDP sockets for which [`World::set_link`](super::World::set_link) sets no other. Unix sockets
    /// have no delay.
    pub link: Link,
    /// Bytes that a socket accepts for sending and that its peer has not acknowledged.
    pub send_buffer: usize,
    /// Bytes on their way to a socket or unread by it.
    pub receive_window: usize,
    /// Connections that wait to be accepted: the limit for every listener, as net.core.somaxconn.
    pub backlog: usize,
    /// Virtual time that a worker spends.
    pub costs: Costs,
    /// Faults, drawn by seed.
    pub faults: Faults,
    /// Turns of all workers after which a run ends with an error instead of going on forever.
    pub most_turns: u64,
    /// Checks every byte of a lent buffer instead of the first 64.
    pub check_whole_buffers: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            link: Link::default(),
            send_buffer: 256 << 10,
            receive_window: 128 << 10,
            backlog: 4096,
            costs: Costs::default(),
            faults: Faults::default(),
            most_turns: 100_000_000,
            check_whole_buffers: false,
        }
    }
}

impl Settings {
    /// A host that varies: jitter on the links and in the cost of work, completions in any order, short reads and writes,
    /// interrupted and delayed requests. No error that a correct program would report.
    pub fn rough() -> Self {
        let direction = Direction { jitter: Duration::from_micros(200), ..Direction::default() };
        Self {
            link: Link { to_server: direction, to_client: direction },
            costs: Costs { spread: 0.5, ..Costs::default() },
            faults: Faults {
                short_read: 0.1,
                short_write: 0.1,
                interrupted: 0.02,
                delayed_completion: 0.05,
                any_order: true,
                ..Faults::default()
            },
            ..Self::default()
        }
    }
}

/// The two directions of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Link {
    /// From the side that connects; also that of all datagrams.
    pub to_server: Direction,
    /// From the side that accepts.
    pub to_client: Direction,
}

impl Link {
    /// The same delay in both directions.
    pub fn with_latency(latency: Duration) -> Self {
        let direction = Direction { latency, ..Direction::default() };
        Self { to_server: direction, to_client: direction }
    }
}

/// One direction of a link. Bytes of a stream never overtake each other; datagrams do, by jitter.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Direction {
    /// From the sender to the receiver.
    pub latency: Duration,
    /// Added to the latency: evenly distributed from zero to this, by seed.
    pub jitter: Duration,
    /// Of one connection; unbounded if `None`.
    pub bytes_per_second: Option<u64>,
}

impl Default for Direction {
    fn default() -> Self {
        Self { latency: Duration::from_micros(10), jitter: Duration::ZERO, bytes_per_second: None }
    }
}

/// Virtual time that work takes. Never all zero: a worker that is always ready would stop the clock.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Costs {
    /// One turn of a worker, at least a nanosecond: its call into the kernel.
    pub turn: Duration,
    /// One request executed by the kernel, or one system call outside the ring.
    pub request: Duration,
    /// One completion taken.
    pub completion: Duration,
    /// One poll of a task.
    pub poll: Duration,
    /// One reading of the clock, so that a loop that waits for a time ends.
    pub clock: Duration,
    /// From an event to the start of the turn of a worker that slept.
    pub wake: Duration,
    /// The largest share by which the cost of a turn grows, by seed.
    pub spread: f64,
}

impl Default for Costs {
    fn default() -> Self {
        Self {
            turn: Duration::from_nanos(800),
            request: Duration::from_nanos(400),
            completion: Duration::from_nanos(100),
            poll: Duration::from_nanos(200),
            clock: Duration::from_nanos(25),
            wake: Duration::from_micros(3),
            spread: 0.0,
        }
    }
}

/// Probabilities of faults, each from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Faults {
    /// A segment is lost with its connection: both ends are reset.
    pub reset: f64,
    /// Probability that a connect is refused though there is a listener.
    pub refused: f64,
    /// An accept fails with EMFILE.
    pub out_of_descriptors: f64,
    /// A send fails with ENOBUFS, which ends the stream's writing.
    pub no_buffers: f64,
    /// A receive takes only a part of what is there.
    pub short_read: f64,
    /// A send takes only a part of what fits.
    pub short_write: f64,
    /// A receive, send or accept ends with EINTR.
    pub interrupted: f64,
    /// A request acts up to 100 us later than it could.
    pub delayed_completion: f64,
    /// A datagram is lost.
    pub lost: f64,
    /// A datagram arrives twice.
    pub duplicated: f64,
    /// Requests that can act at the same time do so in any order, not in that of their events.
    pub any_order: bool,
}
