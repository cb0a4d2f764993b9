//! What the threads of one run share: the clock, the times of its phases, and how connecting goes.
//!
//! Written rarely, read often: nothing in here is touched by every request except the time of the window's end.

use super::hosts::Hosts;
use crate::{handshakes::Handshakes, options::Options, record::Budget};
use runtime::Stop;
use rustix::time::{ClockId, clock_gettime};
use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
    },
    time::{Duration, Instant},
};

/// The run's clock: nanoseconds of CLOCK_MONOTONIC since the run was set up. Reading it is a call into the vDSO.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    zero: Instant,
}

impl Clock {
    /// A clock that is at zero now.
    pub fn start() -> Self {
        Self { zero: Instant::now() }
    }

    /// Nanoseconds since the start.
    #[inline]
    pub fn now(&self) -> u64 {
        self.at(Instant::now())
    }

    /// As `now`, for a moment that was read already.
    #[inline]
    pub fn at(&self, moment: Instant) -> u64 {
        moment.duration_since(self.zero).as_nanos() as u64
    }

    /// The same moment for those who sleep.
    pub fn instant(&self, ns: u64) -> Instant {
        self.zero + Duration::from_nanos(ns)
    }
}

/// CPU time of the calling thread, in nanoseconds.
pub fn thread_cpu_ns() -> u64 {
    let used = clock_gettime(ClockId::ThreadCPUTime);
    used.tv_sec as u64 * 1_000_000_000 + used.tv_nsec as u64
}

/// How opening connections goes, over all threads.
#[derive(Debug)]
pub struct Connecting {
    hosts: Vec<Reached>,
    open: AtomicU64,
    peak: AtomicU64,
    settled: AtomicU64,
}

/// How opening connections to one host goes.
#[derive(Debug, Default)]
struct Reached {
    accepted: AtomicBool,
    opened: AtomicU64,
    first_error: Mutex<Option<io::Error>>,
}

impl Connecting {
    fn new(hosts: usize) -> Self {
        Self {
            hosts: (0..hosts).map(|_| Reached::default()).collect(),
            open: AtomicU64::new(0),
            peak: AtomicU64::new(0),
            settled: AtomicU64::new(0),
        }
    }

    /// `host` has accepted a connection.
    pub fn accepted(&self, host: usize) {
        self.hosts[host].accepted.store(true, Relaxed);
    }

    /// A connection to `host` was opened.
    pub fn opened(&self, host: usize) {
        self.hosts[host].opened.fetch_add(1, Relaxed);
        let open = self.open.fetch_add(1, Relaxed) + 1;
        self.peak.fetch_max(open, Relaxed);
    }

    /// A connection was closed.
    pub fn closed(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    /// The first attempt of a connection to `host` has ended, in this error if there is one.
    pub fn settle(&self, host: usize, error: Option<io::Error>) {
        if let Some(error) = error {
            locked(&self.hosts[host].first_error).get_or_insert(error);
        }
        self.settled.fetch_add(1, Relaxed);
    }

    /// Connections whose first attempt has ended.
    pub fn settled(&self) -> u64 {
        self.settled.load(Relaxed)
    }

    /// Connections opened so far, and the most that were open at a time.
    pub fn counts(&self) -> (u64, u64) {
        (self.hosts.iter().map(|host| host.opened.load(Relaxed)).sum(), self.peak.load(Relaxed))
    }

    /// Connections to `host` opened so far.
    pub fn opened_to(&self, host: usize) -> u64 {
        self.hosts[host].opened.load(Relaxed)
    }

    /// Whether `host` has accepted a connection, ready or not.
    pub fn has_accepted(&self, host: usize) -> bool {
        self.hosts[host].accepted.load(Relaxed)
    }

    /// The first host without a connection so far.
    pub fn unreached(&self) -> Option<usize> {
        (0..self.hosts.len()).find(|host| self.opened_to(*host) == 0)
    }

    /// The first error of a host and its number, each handed out once.
    pub fn take_error(&self) -> Option<(usize, io::Error)> {
        self.hosts.iter().enumerate().find_map(|(number, host)| Some((number, locked(&host.first_error).take()?)))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Shared by the threads of one run.
#[derive(Debug)]
pub struct Shared {
    /// What was asked.
    pub options: Options,
    /// The run's clock.
    pub clock: Clock,
    /// Where connections go.
    pub hosts: Hosts,
    /// How connecting goes.
    pub connecting: Connecting,
    /// When the load starts and when the window opens; set before `go` is raised.
    pub start: AtomicU64,
    /// See `start`.
    pub open: AtomicU64,
    /// When the window closes; `u64::MAX` until then.
    pub close: Arc<AtomicU64>,
    /// Completions after which the window closes.
    pub budget: Option<Arc<Budget>>,
    /// Those of connections that make themselves secret first.
    handshakes: Mutex<Handshakes>,
    /// Why the run is without a result, if it is, although the load was under way.
    broken: Mutex<Option<String>>,
    /// `start`, `open` and `close` are set.
    pub go: Stop,
    /// Nobody needs the connections any more: threads that have drained may end, others end at once.
    pub release: Stop,
}

impl Shared {
    /// The state of a run not yet started.
    pub fn new(options: &Options) -> Self {
        let hosts = Hosts::new(&options.target, options.connections);
        Self {
            options: options.clone(),
            clock: Clock::start(),
            connecting: Connecting::new(hosts.addresses.len()),
            hosts,
            start: AtomicU64::new(0),
            open: AtomicU64::new(0),
            close: Arc::new(AtomicU64::new(u64::MAX)),
            budget: options.requests.map(|limit| Arc::new(Budget::new(limit))),
            handshakes: Mutex::default(),
            broken: Mutex::new(None),
            go: Stop::new(),
            release: Stop::new(),
        }
    }

    /// What became of handshakes; locked, for one costs thousands of times as much.
    pub fn handshakes(&self) -> MutexGuard<'_, Handshakes> {
        locked(&self.handshakes)
    }

    /// The window is over at `ns`, if it is not before.
    pub fn close_at(&self, ns: u64) {
        self.close.fetch_min(ns, Relaxed);
    }

    /// Ends the run, which has no result now; the first reason is the one that counts.
    pub fn break_off(&self, why: String) {
        locked(&self.broken).get_or_insert(why);
        self.close_at(self.clock.now());
    }

    /// Why the run has no result, if it has none.
    pub fn take_broken(&self) -> Option<String> {
        locked(&self.broken).take()
    }

    /// Whether the window is over.
    pub fn is_closed(&self) -> bool {
        self.clock.now() >= self.close.load(Relaxed)
    }
}
