//! The thread that called `run`: waits for the connections, sets the times, calls the observer, collects.
//!
//! Never a load thread: whatever the observer does here, no request is late for it.

use super::{shared::Shared, thread::Message};
use crate::{
    collect::Collector,
    error::LoadError,
    interval::Interval,
    observer::Observer,
    report::{self, Course, Report},
    schedule::Schedule,
};
use runtime::BackendKind;
use rustix::io::Errno;
use std::{
    io,
    sync::{
        atomic::Ordering::Relaxed,
        mpsc::{Receiver, RecvTimeoutError, Sender},
    },
    time::{Duration, SystemTime},
};
use tls::Fault;

/// Between the decision to start and the start: every thread hears of it in time.
const HEADSTART: Duration = Duration::from_millis(5);
/// How often the observer is asked whether to stop.
const POLL: Duration = Duration::from_millis(100);
/// How often connecting is looked at.
const CONNECT_POLL: Duration = Duration::from_millis(2);
/// A target that opens fewer connections a second, over all, is not waited for until it has them all.
const SLOWEST_CONNECTS: f64 = 1000.0;

/// Conducts one run.
pub struct Conductor<'s> {
    shared: &'s Shared,
    messages: Receiver<(usize, Message)>,
    /// To each thread: emptied intervals.
    spares: Vec<Sender<Box<Interval>>>,
    tids: Vec<u32>,
    backend: BackendKind,
    fallback: Option<String>,
    interrupted: bool,
    asked_ns: u64,
}

impl<'s> Conductor<'s> {
    /// The conductor of threads that have just been started; `spares` has a channel for each.
    pub fn new(shared: &'s Shared, messages: Receiver<(usize, Message)>, spares: Vec<Sender<Box<Interval>>>) -> Self {
        Self {
            shared,
            messages,
            tids: vec![0; spares.len()],
            spares,
            backend: BackendKind::Epoll,
            fallback: None,
            interrupted: false,
            asked_ns: 0,
        }
    }

    /// Waits until all connections are open, or it is clear that no more will be.
    pub fn connect(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
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
                        let target = options.target.called(host, shared.hosts.addresses[host]);
                        Err(LoadError::NoHandshake(target, options.timeout))
                    }
                    Some(host) => Err(LoadError::NoAnswer(shared.hosts.addresses[host], options.timeout)),
                };
            }
            if self.wants_stop(observer, now) {
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
            Message::Interval(_) => (),
        }
        Ok(())
    }

    /// What an error of a first attempt at a host means for the run, with so many connections open to all of them: `None`
    /// if it can go on without that connection.
    fn fatal(&self, host: usize, error: io::Error, open: u64) -> Option<LoadError> {
        let address = self.shared.hosts.addresses[host];
        let connections = self.shared.options.connections;
        match Errno::from_io_error(&error) {
            Some(Errno::MFILE) => Some(LoadError::Descriptors {
                connections,
                fit: open as usize,
                limit: rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX),
            }),
            Some(Errno::NFILE) => Some(LoadError::SystemDescriptors { open }),
            Some(Errno::ADDRNOTAVAIL) => Some(LoadError::Ports { address, open, range: port_range() }),
            _ if self.shared.connecting.opened_to(host) > 0 || error.kind() == io::ErrorKind::TimedOut => None,
            _ if error.kind() == io::ErrorKind::ConnectionRefused => Some(LoadError::Refused(address)),
            _ => Some(match Fault::of(&error) {
                Some(fault) => LoadError::Tls(self.shared.options.target.called(host, address), fault.clone()),
                None => LoadError::Unreachable(address, error),
            }),
        }
    }

    fn wants_stop(&mut self, observer: &dyn Observer, now_ns: u64) -> bool {
        if !self.interrupted && now_ns - self.asked_ns >= POLL.as_nanos() as u64 {
            self.asked_ns = now_ns;
            self.interrupted = observer.wants_stop();
        }
        self.interrupted
    }

    /// Starts the load and sees it through; returns what was collected once every thread has ended.
    pub fn drive(&mut self, observer: &mut dyn Observer, schedules: Vec<Schedule>) -> Collector {
        let Self { shared, .. } = *self;
        observer.started(&self.tids);
        let now = shared.clock.now();
        let start = now + HEADSTART.as_nanos() as u64;
        let open = start + shared.options.warmup.as_nanos() as u64;
        shared.start.store(start, Relaxed);
        shared.open.store(open, Relaxed);
        shared.close.store(open + shared.options.duration.as_nanos() as u64, Relaxed);
        if self.interrupted {
            shared.close_at(start);
        }
        shared.go.raise();
        let mut collector = Collector::new(self.tids.len(), start, SystemTime::now() + HEADSTART, schedules);
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
                shared.release.raise();
            }
            let next = [open, close].into_iter().filter(|at| *at > now).min();
            let pause = next.map_or(POLL, |at| POLL.min(Duration::from_nanos(at - now)));
            match self.messages.recv_timeout(pause) {
                Ok((thread, Message::Interval(mut interval))) => {
                    collector.take(thread, &mut interval);
                    // A thread that has ended needs no more of them.
                    let _ = self.spares[thread].send(interval);
                    while let Some(mut second) = collector.next_second() {
                        observer.second(&mut second);
                        collector.keep(second);
                    }
                }
                Ok(_) | Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => return collector,
            }
            if !closed && self.wants_stop(observer, now) {
                shared.close_at(now);
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
        let course = Course {
            interrupted: self.interrupted,
            measured: Duration::from_nanos(close.saturating_sub(open)),
            connections: shared.connecting.counts(),
            handshakes: shared.options.target.is_secret().then(|| shared.handshakes().summary()),
        };
        Report {
            result: report::result(&shared.options, course, &totals),
            hlog: totals.hlog,
            seconds: totals.seconds,
            backend: self.backend,
            fallback: self.fallback.clone(),
            saturated: totals.saturated,
        }
    }
}

/// The ports the kernel gives to connections that name none.
fn port_range() -> Option<(u16, u16)> {
    let text = std::fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut numbers = text.split_whitespace().map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}
