//! What the threads of one run share: the clock, the times of its phases, and how connecting goes.
//!
//! Written rarely, read often: nothing in here is touched by every request except the time of the window's end.

use super::hosts::Hosts;
use crate::{measure::handshakes::Handshakes, measure::recorder::Budget, options::Options};
use brunt_runtime::CancellationToken;
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};
use std::{
    io,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{
            AtomicBool, AtomicU64,
            Ordering::{Acquire, Relaxed, Release},
        },
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

    /// A clock that was at zero so many nanoseconds after the zero of CLOCK_MONOTONIC, which is the same for all processes
    /// of a machine.
    pub fn since(zero_ns: u64) -> Self {
        let (moment, at_ns) = now_twice();
        // A clock that begins later than now would have to be one of another machine.
        Self { zero: moment - Duration::from_nanos(at_ns.saturating_sub(zero_ns)) }
    }

    /// What another process has to know for the same clock.
    pub fn zero_ns(&self) -> u64 {
        let (moment, at_ns) = now_twice();
        at_ns - self.at(moment)
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

    /// The same moment as an [`Instant`], for sleeping.
    pub fn instant(&self, ns: u64) -> Instant {
        self.zero + Duration::from_nanos(ns)
    }
}

/// This moment, and what it is on CLOCK_MONOTONIC. An `Instant` has that clock but does not tell, so both are read; of
/// some attempts the one that was interrupted least, which is exact to tens of nanoseconds.
fn now_twice() -> (Instant, u64) {
    let monotonic_ns = || {
        let now = clock_gettime(ClockId::Monotonic);
        now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
    };
    let attempt = |_| {
        let before = monotonic_ns();
        let moment = Instant::now();
        let after = monotonic_ns();
        (after - before, moment, before + (after - before) / 2)
    };
    let best = (0..16).map(attempt).min_by_key(|(took, ..)| *took).expect("there were attempts");
    (best.1, best.2)
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
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
}

/// How far opening connections has come, in one process or in all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// Connections opened, by host.
    opened: Vec<u64>,
    open: u64,
    settled: u64,
    began_ns: u64,
    ended_ns: u64,
}

impl Progress {
    /// Nothing has begun yet.
    pub fn none(hosts: usize) -> Self {
        Self { opened: vec![0; hosts], open: 0, settled: 0, began_ns: u64::MAX, ended_ns: 0 }
    }
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
            began_ns: AtomicU64::new(u64::MAX),
            ended_ns: AtomicU64::new(0),
        }
    }

    /// A thread begins to open its connections.
    pub fn begin(&self, now_ns: u64) {
        self.began_ns.fetch_min(now_ns, Relaxed);
    }

    /// From the first attempt to the end of the last first one, in nanoseconds; nothing before both.
    pub fn took_ns(&self) -> Option<u64> {
        self.ended_ns.load(Relaxed).checked_sub(self.began_ns.load(Relaxed)).filter(|took| *took > 0)
    }

    /// How far it has come.
    pub fn progress(&self) -> Progress {
        // Whoever sees an attempt settled sees its connection too.
        let settled = self.settled.load(Acquire);
        Progress {
            opened: self.hosts.iter().map(|host| host.opened.load(Relaxed)).collect(),
            open: self.open.load(Relaxed),
            settled,
            began_ns: self.began_ns.load(Relaxed),
            ended_ns: self.ended_ns.load(Relaxed),
        }
    }

    /// Another process, which was at `before`, is at `now`.
    pub fn advance(&self, before: &Progress, now: &Progress) {
        for ((host, before), now) in self.hosts.iter().zip(&before.opened).zip(&now.opened) {
            host.opened.fetch_add(now - before, Relaxed);
        }
        let more = now.open.wrapping_sub(before.open);
        let open = self.open.fetch_add(more, Relaxed).wrapping_add(more);
        self.peak.fetch_max(open, Relaxed);
        self.began_ns.fetch_min(now.began_ns, Relaxed);
        self.ended_ns.fetch_max(now.ended_ns, Relaxed);
        self.settled.fetch_add(now.settled - before.settled, Release);
    }

    /// An attempt of a connection to `host` has ended in this error, here or elsewhere.
    pub fn fail(&self, host: usize, error: io::Error) {
        locked(&self.hosts[host].first_error).get_or_insert(error);
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

    /// The first attempt of a connection to `host` has ended now, in this error if there is one.
    pub fn settle(&self, now_ns: u64, host: usize, error: Option<io::Error>) {
        if let Some(error) = error {
            self.fail(host, error);
        }
        self.ended_ns.fetch_max(now_ns, Relaxed);
        self.settled.fetch_add(1, Release);
    }

    /// Connections whose first attempt has ended.
    pub fn settled(&self) -> u64 {
        self.settled.load(Acquire)
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
    pub go: CancellationToken,
    /// Connections may be released: threads that have drained may end, others end at once.
    pub release: CancellationToken,
}

impl Shared {
    /// The state of a run not yet started.
    pub fn new(options: &Options) -> Self {
        Self::at(options, Clock::start())
    }

    /// The same on a clock that runs already.
    pub fn at(options: &Options, clock: Clock) -> Self {
        let hosts = Hosts::new(&options.target, options.connections);
        Self {
            options: options.clone(),
            clock,
            connecting: Connecting::new(hosts.endpoints.len()),
            hosts,
            start: AtomicU64::new(0),
            open: AtomicU64::new(0),
            close: Arc::new(AtomicU64::new(u64::MAX)),
            budget: options.requests.map(|limit| Arc::new(Budget::new(limit))),
            handshakes: Mutex::default(),
            broken: Mutex::new(None),
            go: CancellationToken::new(),
            release: CancellationToken::new(),
        }
    }

    /// Sets the times and lets the threads go.
    pub fn begin(&self, start_ns: u64, open_ns: u64, close_ns: u64) {
        self.start.store(start_ns, Relaxed);
        self.open.store(open_ns, Relaxed);
        // It may be over before it has begun.
        self.close.fetch_min(close_ns, Relaxed);
        self.go.cancel();
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
