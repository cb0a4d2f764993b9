//! The thread that called `run`: waits for the connections, sets the times, calls the observer, collects.
//!
//! Never a load thread: whatever the observer does here, no request is late for it.

use super::{
    peers::{Order, Peers},
    shared::Shared,
    thread::Message,
};
use crate::{
    error::LoadError,
    measure::collector::Collector,
    measure::interval::Interval,
    observer::Observer,
    report::{self, Report, RunSummary},
    schedule::Schedule,
};
use brunt_runtime::BackendKind;
use brunt_tls::TlsError;
use rustix::io::Errno;
use std::{
    io,
    sync::{
        atomic::Ordering::Relaxed,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, SystemTime},
};

/// Between the decision to start and the start: every thread hears of it in time.
const START_DELAY: Duration = Duration::from_millis(5);
/// How often the observer is asked whether to stop.
const POLL: Duration = Duration::from_millis(100);
/// How often connecting is looked at.
const CONNECT_POLL: Duration = Duration::from_millis(2);
/// A target that opens fewer connections a second, over all, is not waited for until it has them all.
const SLOWEST_CONNECTS: f64 = 1000.0;

/// Conducts one run.
pub struct Coordinator<'s> {
    shared: &'s Shared,
    messages: Receiver<(usize, Message)>,
    /// To each thread: emptied intervals.
    spares: Vec<Sender<Box<Interval>>>,
    peers: &'s dyn Peers,
    tids: Vec<u32>,
    backend: BackendKind,
    fallback: Option<String>,
    interrupted: bool,
    asked_ns: u64,
    /// Connections opened per second, until the load began.
    connect_rate: Option<f64>,
    /// What became of another process, if one was lost under the load.
    lost: Option<String>,
}

impl<'s> Coordinator<'s> {
    /// The coordinator of threads that have just been started, here or in other processes; `spares` has a channel for each
    /// of those that are here.
    pub fn new(
        shared: &'s Shared,
        messages: Receiver<(usize, Message)>,
        spares: Vec<Sender<Box<Interval>>>,
        peers: &'s dyn Peers,
    ) -> Self {
        Self {
            shared,
            messages,
            peers,
            tids: vec![0; shared.options.threads.len()],
            spares,
            backend: BackendKind::Epoll,
            fallback: None,
            interrupted: false,
            asked_ns: 0,
            connect_rate: None,
            lost: None,
        }
    }

    /// Waits until all connections are open, or it is clear that no more will be.
    pub fn connect(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
        let all_there = self.wait_for_connections(observer);
        let (opened, _) = self.shared.connecting.counts();
        let took_ns = self.shared.connecting.took_ns().filter(|_| opened > 0);
        self.connect_rate = took_ns.map(|took| opened as f64 / took as f64 * 1e9);
        all_there
    }

    fn wait_for_connections(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
        let Self { shared, .. } = *self;
        let options = &shared.options;
        let rate = options.connect_rate.unwrap_or(SLOWEST_CONNECTS);
        let timeout = options.timeout.as_nanos() as u64;
        let longest_gap = timeout + (1e9 / rate) as u64;
        let deadline = timeout + (options.connections as f64 / rate * 1e9) as u64;
        let (mut seen, mut seen_ns) = (0, 0);
        loop {
            match self.messages.recv_timeout(CONNECT_POLL) {
                Ok((thread, message)) => self.hear(thread, message)?,
                Err(RecvTimeoutError::Timeout) => (),
                // Every thread has ended: a panic, which joining them shows.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let settled = shared.connecting.settled();
            let (opened, _) = shared.connecting.counts();
            while let Some((host, error)) = shared.connecting.take_error() {
                if let Some(error) = self.fatal(host, error, opened) {
                    return Err(error);
                }
            }
            let now = shared.clock.now();
            if opened > seen {
                (seen, seen_ns) = (opened, now);
            }
            let done = settled == options.connections as u64 && !self.tids.contains(&0);
            if done || now > deadline || now - seen_ns > longest_gap {
                return match shared.connecting.unreached() {
                    None => Ok(()),
                    Some(host) if shared.connecting.has_accepted(host) => {
                        let target = options.target.called(host, &shared.hosts.endpoints[host]);
                        Err(LoadError::NoHandshake(target, options.timeout))
                    }
                    Some(host) => Err(LoadError::NoAnswer(shared.hosts.endpoints[host].clone(), options.timeout)),
                };
            }
            if self.is_time_to_ask(now) {
                observer.connecting(opened, options.connections as u64);
                self.interrupted |= observer.wants_stop();
            }
            if self.interrupted {
                return Ok(());
            }
        }
    }

    fn hear(&mut self, thread: usize, message: Message) -> Result<(), LoadError> {
        match message {
            Message::Ready { tid, backend, fallback } => {
                self.tids[thread] = tid;
                self.backend = backend;
                self.fallback = fallback;
            }
            Message::Failed(error) => return Err(error),
            Message::Gone => return Err(LoadError::Process(self.peers.exit_reason(thread))),
            Message::Interval(_) => (),
        }
        Ok(())
    }

    /// What an error of a first attempt at a host means for the run, with so many connections open to all of them: `None`
    /// if it can go on without that connection.
    fn fatal(&self, host: usize, error: io::Error, open: u64) -> Option<LoadError> {
        let endpoint = self.shared.hosts.endpoints[host].clone();
        let connections = self.shared.options.connections;
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE) => Some(LoadError::Descriptors {
                connections,
                fit: open as usize,
                limit: rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX),
            }),
            Some(Errno::NFILE) => Some(LoadError::SystemDescriptors { open }),
            Some(Errno::ADDRNOTAVAIL) => Some(LoadError::Ports { endpoint, open, range: port_range() }),
            _ if self.shared.connecting.opened_to(host) > 0 || error.kind() == io::ErrorKind::TimedOut => None,
            _ if error.kind() == io::ErrorKind::ConnectionRefused => Some(LoadError::Refused(endpoint)),
            _ => Some(match TlsError::of(&error) {
                Some(fault) => LoadError::Tls(self.shared.options.target.called(host, &endpoint), fault.clone()),
                None => LoadError::Unreachable(endpoint, error),
            }),
        }
    }

    fn is_time_to_ask(&mut self, now_ns: u64) -> bool {
        let is_time = now_ns - self.asked_ns >= POLL.as_nanos() as u64;
        if is_time {
            self.asked_ns = now_ns;
        }
        is_time
    }

    fn wants_stop(&mut self, observer: &dyn Observer, now_ns: u64) -> bool {
        if !self.interrupted && self.is_time_to_ask(now_ns) {
            self.interrupted = observer.wants_stop();
        }
        self.interrupted
    }

    /// Ends the window on all threads.
    fn close_now(&self, now_ns: u64) {
        self.shared.close_at(now_ns);
        self.peers.order(Order::Close(now_ns));
    }

    /// Starts the load and sees it through; returns what was collected once every thread has ended.
    pub fn drive(&mut self, observer: &mut dyn Observer, schedules: Vec<Schedule>) -> Collector {
        let Self { shared, .. } = *self;
        observer.started(&self.tids);
        let now = shared.clock.now();
        let start_delay = START_DELAY + self.peers.start_delay();
        let start = now + start_delay.as_nanos() as u64;
        let open = start + shared.options.warmup.as_nanos() as u64;
        let close = if self.interrupted { start } else { open + shared.options.duration.as_nanos() as u64 };
        shared.begin(start, open, close);
        self.peers.order(Order::Begin { start, open, close });
        let mut collector = Collector::new(self.tids.len(), start, SystemTime::now() + start_delay, schedules);
        let (mut opened, mut closed) = (false, false);
        loop {
            let (now, close) = (shared.clock.now(), shared.close.load(Relaxed));
            if !opened && now >= open && open < close {
                opened = true;
                observer.window_opened();
            }
            if !closed && now >= close {
                closed = true;
                if opened {
                    observer.window_closed();
                }
                shared.release.cancel();
                self.peers.order(Order::Release);
            }
            let next = [open, close].into_iter().filter(|at| *at > now).min();
            let pause = next.map_or(POLL, |at| POLL.min(Duration::from_nanos(at - now)));
            match self.messages.recv_timeout(pause) {
                Ok((thread, Message::Interval(mut interval))) => {
                    collector.take(thread, &mut interval);
                    // One that has ended needs no more of them, and another process makes its own.
                    let _ = self.spares.get(thread).map(|spare| spare.send(interval));
                    while let Some(mut second) = collector.next_second() {
                        observer.second(&mut second);
                        collector.keep(second);
                    }
                }
                Ok((process, Message::Gone)) => {
                    self.lost.get_or_insert_with(|| self.peers.exit_reason(process));
                }
                Ok((_, Message::Failed(error))) => {
                    self.lost.get_or_insert_with(|| error.to_string());
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => return collector,
            }
            if !closed && (self.wants_stop(observer, now) || self.lost.is_some()) {
                self.close_now(now);
            }
        }
    }

    /// What the run amounts to; `unsent` are the threads' schedules as far as they were taken.
    pub fn report(&self, mut collector: Collector, unsent: &[Schedule]) -> Report {
        let Self { shared, .. } = *self;
        let (open, close) = (shared.open.load(Relaxed), shared.close.load(Relaxed));
        while let Some(second) = collector.last_second() {
            collector.keep(second);
        }
        let totals = collector.finish(unsent, open, close);
        let summary = RunSummary {
            interrupted: self.interrupted || self.lost.is_some(),
            measured: Duration::from_nanos(close.saturating_sub(open)),
            connections: shared.connecting.counts(),
            connect_rate: self.connect_rate,
            handshakes: shared.options.target.is_secret().then(|| shared.handshakes().summary()),
        };
        Report {
            result: report::result(&shared.options, summary, &totals),
            hlog: totals.hlog,
            seconds: totals.seconds,
            backend: self.backend,
            fallback: self.fallback.clone(),
            saturated: totals.saturated,
            lost: self.lost.clone(),
        }
    }
}

/// The ports the kernel gives to connections that name none.
pub(crate) fn port_range() -> Option<(u16, u16)> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
