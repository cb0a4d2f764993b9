//! State shared by the threads of one run: the times of its phases, and the progress of connecting.
//!
//! Written rarely: the only thing that every request reads is the end of the window.

use super::{clock::Clock, commands::Commands, first_failures::FirstFailures, hosts::Hosts};
use crate::measure::links::{self, Budget};
use crate::measure::{handshakes::Handshakes, outages::Outages};
use crate::options::Options;
use brunt_runtime::CancellationToken;
use serde::{Deserialize, Serialize};
use std::ops::Range;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release, SeqCst};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::sync::{Arc, Mutex, MutexGuard};
use std::{io, iter};

/// Progress of connecting, over all threads. An attempt is settled once it has succeeded or failed.
#[derive(Debug, Default)]
pub struct Connecting {
    hosts: Vec<HostProgress>,
    open: AtomicU64,
    peak: AtomicU64,
    settled: AtomicU64,
    began_ns: AtomicU64,
    ended_ns: AtomicU64,
    /// Connections whose tasks have ended because they were lost after a window.
    given_up: AtomicU64,
}

#[derive(Debug, Default)]
struct HostProgress {
    accepted: AtomicBool,
    opened: AtomicU64,
    first_error: Mutex<Option<io::Error>>,
}

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
    pub fn none(hosts: usize) -> Self {
        Self { opened: vec![0; hosts], open: 0, settled: 0, began_ns: u64::MAX, ended_ns: 0 }
    }

    /// Attempts that have ended.
    pub fn settled(&self) -> u64 {
        self.settled
    }

    /// Whether it can be a later snapshot of the same part.
    pub fn follows(&self, before: &Self) -> bool {
        let is_more = |(now, before): (&u64, &u64)| now >= before;
        self.opened.len() == before.opened.len()
            && self.opened.iter().zip(&before.opened).all(is_more)
            && self.settled >= before.settled
    }

    /// Adds `by` to the times; there are none before the first attempt and its end.
    pub fn shift(&mut self, by: i64) {
        if self.began_ns != u64::MAX {
            self.began_ns = self.began_ns.saturating_add_signed(by);
        }
        if self.ended_ns != 0 {
            self.ended_ns = self.ended_ns.saturating_add_signed(by);
        }
    }
}

impl Connecting {
    fn new(hosts: usize) -> Self {
        let hosts = iter::repeat_with(HostProgress::default).take(hosts).collect();
        Self { hosts, began_ns: AtomicU64::new(u64::MAX), ..Self::default() }
    }

    pub fn begin(&self, now_ns: u64) {
        self.began_ns.fetch_min(now_ns, Relaxed);
    }

    /// Time between the first attempt and the end of the last one, in nanoseconds; `None` before both.
    pub fn took_ns(&self) -> Option<u64> {
        self.ended_ns.load(Relaxed).checked_sub(self.began_ns.load(Relaxed)).filter(|took| *took > 0)
    }

    pub fn progress(&self) -> Progress {
        // Before the others: a settled attempt's connection is then counted too.
        let settled = self.settled();
        Progress {
            opened: self.hosts.iter().map(|host| host.opened.load(Relaxed)).collect(),
            open: self.open.load(Relaxed),
            settled,
            began_ns: self.began_ns.load(Relaxed),
            ended_ns: self.ended_ns.load(Relaxed),
        }
    }

    /// Adds the progress of another process between two snapshots.
    pub fn advance(&self, before: &Progress, now: &Progress) {
        for ((host, before), now) in self.hosts.iter().zip(&before.opened).zip(&now.opened) {
            host.opened.fetch_add(now - before, Relaxed);
        }
        self.add_open(now.open.wrapping_sub(before.open));
        self.began_ns.fetch_min(now.began_ns, Relaxed);
        self.ended_ns.fetch_max(now.ended_ns, Relaxed);
        self.settled.fetch_add(now.settled - before.settled, Release);
    }

    fn add_open(&self, more: u64) {
        let open = self.open.fetch_add(more, Relaxed).wrapping_add(more);
        self.peak.fetch_max(open, Relaxed);
    }

    /// Keeps the first error of an attempt to connect to `host`.
    pub fn fail(&self, host: usize, error: io::Error) {
        locked(&self.hosts[host].first_error).get_or_insert(error);
    }

    pub fn accepted(&self, host: usize) {
        self.hosts[host].accepted.store(true, Relaxed);
    }

    pub fn opened(&self, host: usize) {
        self.hosts[host].opened.fetch_add(1, Relaxed);
        self.add_open(1);
    }

    pub fn closed(&self) {
        self.open.fetch_sub(1, Relaxed);
    }

    /// A connection is lost and not opened again before the next slice.
    pub fn give_up(&self) {
        self.given_up.fetch_add(1, Relaxed);
    }

    pub fn take_up(&self) {
        self.given_up.fetch_sub(1, Relaxed);
    }

    pub fn given_up(&self) -> u64 {
        self.given_up.load(Relaxed)
    }

    /// The first attempt of a connection to `host` has ended now.
    pub fn settle(&self, now_ns: u64, host: usize, error: Option<io::Error>) {
        if let Some(error) = error {
            self.fail(host, error);
        }
        self.ended_ns.fetch_max(now_ns, Relaxed);
        self.settled.fetch_add(1, Release);
    }

    pub fn settled(&self) -> u64 {
        self.settled.load(Acquire)
    }

    /// Connections opened so far, and the most open at a time.
    pub fn counts(&self) -> (u64, u64) {
        (self.hosts.iter().map(|host| host.opened.load(Relaxed)).sum(), self.peak.load(Relaxed))
    }

    pub fn opened_to(&self, host: usize) -> u64 {
        self.hosts[host].opened.load(Relaxed)
    }

    /// Whether `host` has accepted a connection, which may lack its handshake.
    pub fn has_accepted(&self, host: usize) -> bool {
        self.hosts[host].accepted.load(Relaxed)
    }

    /// The first host without a connection of those that should have one.
    pub fn unreached(&self, should_have: impl Fn(usize) -> bool) -> Option<usize> {
        (0..self.hosts.len()).find(|host| self.opened_to(*host) == 0 && should_have(*host))
    }

    pub fn take_error(&self) -> Option<(usize, io::Error)> {
        self.hosts.iter().enumerate().find_map(|(number, host)| Some((number, locked(&host.first_error).take()?)))
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

#[derive(Debug)]
pub struct Shared {
    pub options: Options,
    pub clock: Clock,
    pub hosts: Hosts,
    pub connecting: Connecting,
    /// Start of the load.
    pub start: AtomicU64,
    /// When the first thread had begun to send; `u64::MAX` before that.
    pub began: AtomicU64,
    /// Start of the window.
    pub open: Arc<AtomicU64>,
    /// End of the window, or of the lease if that is earlier; as `open`, `u64::MAX` until it is set.
    pub close: Arc<AtomicU64>,
    /// The former alone.
    pub window_close: Arc<AtomicU64>,
    /// The latter alone: `u64::MAX` of a load without one.
    lease: AtomicU64,
    pub budget: Option<Arc<Budget>>,
    /// Those of a session; `None` of a single load.
    pub commands: Option<Commands>,
    handshakes: Mutex<Handshakes>,
    pub first_failures: FirstFailures,
    pub outages: Outages,
    /// Why the run has no result, although the load had begun.
    broken: Mutex<Option<String>>,
    /// Connections may be opened.
    pub connect: CancellationToken,
    /// `start`, `open` and `close` are set.
    pub go: CancellationToken,
    /// Connections may be closed: threads end after their drain, or at once without `go`.
    pub release: CancellationToken,
}

impl Shared {
    pub fn new(options: &Options, clock: Clock) -> Self {
        let hosts = Hosts::new(&options.target, options.connections);
        Self {
            options: options.clone(),
            clock,
            connecting: Connecting::new(hosts.addresses.len()),
            hosts,
            start: AtomicU64::new(0),
            began: AtomicU64::new(u64::MAX),
            open: Arc::new(AtomicU64::new(u64::MAX)),
            close: Arc::new(AtomicU64::new(u64::MAX)),
            window_close: Arc::new(AtomicU64::new(u64::MAX)),
            lease: AtomicU64::new(u64::MAX),
            budget: options.requests.map(|limit| Arc::new(Budget::new(limit))),
            commands: None,
            handshakes: Mutex::default(),
            first_failures: FirstFailures::default(),
            outages: Outages::default(),
            broken: Mutex::default(),
            connect: CancellationToken::new(),
            go: CancellationToken::new(),
            release: CancellationToken::new(),
        }
    }

    /// The state of one request.
    pub fn of_one(options: &Options, clock: Clock) -> Self {
        Self { budget: Some(Arc::new(Budget::of_one_write())), ..Self::new(options, clock) }
    }

    /// The state of a part of a load: of a number of requests, these threads have a fixed share.
    pub fn of_part(options: &Options, clock: Clock, threads: Range<usize>) -> Self {
        let budget = options.requests_of(threads).map(|share| Arc::new(Budget::new(share)));
        Self { budget, ..Self::new(options, clock) }
    }

    /// When the window of a part ends, if its share of a number of requests is done, or is none and the load has begun.
    pub fn end_of_share(&self) -> Option<u64> {
        let ended = self.budget.as_ref().filter(|_| self.go.is_cancelled())?.ended()?;
        Some(ended.max(self.open.load(Relaxed)))
    }

    /// The state of a session, whose load is made on command.
    pub fn of_session(options: &Options, clock: Clock) -> Self {
        Self { commands: Some(Commands::default()), ..Self::new(options, clock) }
    }

    /// Sets the end of the next slice. No request is in flight.
    pub fn begin_slice(&self, close_ns: u64) {
        self.close.store(close_ns, Relaxed);
        self.go.cancel();
    }

    pub fn begin(&self, start_ns: u64, open_ns: u64, close_ns: u64) {
        self.start.store(start_ns, Relaxed);
        self.open.store(open_ns, Relaxed);
        let paced_ns = self.options.paced().as_nanos() as u64;
        self.budget.iter().filter(|_| paced_ns > 0).for_each(|budget| budget.begin(open_ns + paced_ns));
        // A part without a request has its end where the others may have theirs at the earliest.
        let is_none = self.budget.as_ref().is_some_and(|budget| budget.is_none());
        self.close_at(if is_none { close_ns.min(open_ns.saturating_add(paced_ns)) } else { close_ns });
        self.go.cancel();
    }

    /// Sets start and end of the window, in a warm-up whose end was not set.
    pub fn open_at(&self, open_ns: u64, close_ns: u64) {
        self.open.store(open_ns, Relaxed);
        self.close_at(close_ns);
    }

    /// The handshakes of all threads; a lock costs little beside a handshake.
    pub fn handshakes(&self) -> MutexGuard<'_, Handshakes> {
        locked(&self.handshakes)
    }

    /// Ends the window at `ns`, unless it ends before.
    pub fn close_at(&self, ns: u64) {
        links::close_at(&self.window_close, &self.close, ns);
    }

    /// Nothing is sent from `until_ns` on. A call that comes after the time that the one before has set is too late: threads may have
    /// ended, so all do. Called by one thread. Whether the load goes on.
    pub fn lease_until(&self, until_ns: u64) -> bool {
        let before = self.lease.swap(until_ns, SeqCst);
        loop {
            let window = self.window_close.load(SeqCst);
            self.close.store(window.min(until_ns), SeqCst);
            if self.window_close.load(SeqCst) == window {
                break;
            }
        }
        if self.clock.now() >= before {
            self.close_at(before);
        }
        !self.is_closed()
    }

    /// Ends the load at once, wherever it is.
    pub fn abandon(&self) {
        self.close_at(0);
        self.release.cancel();
        self.connect.cancel();
        self.go.cancel();
    }

    /// Ends the run without a result. The first reason is kept.
    pub fn break_off(&self, reason: String) {
        locked(&self.broken).get_or_insert(reason);
        self.close_at(self.clock.now());
    }

    pub fn take_broken(&self) -> Option<String> {
        locked(&self.broken).take()
    }

    pub fn is_broken(&self) -> bool {
        locked(&self.broken).is_some()
    }

    pub fn is_closed(&self) -> bool {
        self.clock.now() >= self.close.load(Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Target;
    use brunt_runtime::net::Address;
    use std::net::SocketAddr;

    #[test]
    fn a_lease_that_is_over_is_not_renewed_and_none_moves_the_end_of_the_window() {
        let address = Address::from(SocketAddr::from(([127, 0, 0, 1], 1)));
        let options = Options::new(String::new(), Target::Echo { address, size: 1, reuse: None });
        let shared = Shared::new(&options, Clock::start());
        let hour = 3600 * 1_000_000_000;
        let close = || shared.close.load(Relaxed);
        assert!(shared.lease_until(hour) && close() == hour);
        shared.begin(0, 0, 2 * hour);
        assert!(close() == hour && shared.lease_until(3 * hour) && close() == 2 * hour);
        assert!(!shared.lease_until(1));
        assert!(!shared.lease_until(hour) && close() == 1);
        assert!(!shared.lease_until(2 * hour) && close() == 1);
    }

    #[test]
    fn the_end_of_a_number_of_requests_is_moved_by_no_lease_and_a_part_without_a_request_has_it_at_once() {
        let address = Address::from(SocketAddr::from(([127, 0, 0, 1], 1)));
        let target = Target::Echo { address, size: 1, reuse: None };
        let closed = Options { connections: 3, threads: vec![None; 3], ..Options::new(String::new(), target) };
        let closed = Options { requests: Some(2), ..closed };
        // At 10/s the window is 200 ms, also for a thread that has none of its requests.
        let open = Options { rate: Some(10.0), ..closed.clone() };
        let hour = 3600 * 1_000_000_000;
        for (options, threads, share, end) in [
            (&closed, 0..1, 0, hour),
            (&closed, 0..2, 1, 3 * hour),
            (&closed, 1..3, 2, 3 * hour),
            (&open, 2..3, 0, hour + 200_000_000),
            (&open, 0..1, 1, 3 * hour),
        ] {
            let shared = Shared::of_part(options, Clock::start(), threads.clone());
            let budget = shared.budget.as_ref().unwrap();
            assert!(shared.lease_until(4 * hour));
            shared.begin(hour, hour, 3 * hour);
            assert_eq!((budget.draw(9), shared.close.load(Relaxed)), (share, end), "{threads:?} of {options:?}");
            assert_eq!(shared.end_of_share(), (share == 0).then_some(end));
            let ends: Vec<u64> = (0..share).filter_map(|_| budget.spend(2 * hour)).collect();
            assert_eq!(shared.end_of_share(), ends.first().copied().or((share == 0).then_some(end)));
            links::close_at(&shared.window_close, &shared.close, hour + 1);
            assert!(shared.lease_until(5 * hour) && shared.close.load(Relaxed) == end.min(hour + 1));
        }
    }
}
