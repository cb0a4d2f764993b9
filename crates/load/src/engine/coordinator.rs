//! Coordinates a run on the thread that called [`crate::run`]: waits for the connections, sets the times, calls the observer,
//! collects. Never a load thread, so a slow observer delays no request. It waits in [`Inbox::next`] alone.

mod report;

use super::inbox::Inbox;
use super::message::Message;
use super::others::{Order, Others};
use super::shared::Shared;
use super::warmup::Warmup;
use crate::measure::breakdown::Parts;
use crate::measure::collector::Collector;
use crate::measure::counts::Lines;
use crate::measure::interval::Interval;
use crate::measure::served::Served;
use crate::options::kind_of;
use crate::{check::port_range, error::LoadError, observer::Observer, schedule::Schedule};
use brunt_runtime::{BackendKind, time};
use rustix::io::Errno;
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::time::{Duration, SystemTime};
use std::{io, sync::atomic::Ordering::Relaxed};

/// From the decision to start or to end until the start or the end.
const NOTICE: Duration = Duration::from_millis(5);
/// Interval at which the observer is asked whether to stop.
const POLL: Duration = Duration::from_millis(100);
const CONNECT_POLL: Duration = Duration::from_millis(2);
/// Attempts of a group of threads that are left when the next group begins: enough for the time in which that takes effect.
const CONNECT_AHEAD: u64 = 2048;
/// Connections per second, over all threads, below which a target is not waited for.
const MIN_CONNECT_RATE: f64 = 1000.0;

/// State of one run. Its threads are numbered over all processes.
pub struct Coordinator<'s> {
    shared: &'s Shared,
    messages: Inbox,
    /// Returns emptied intervals to each thread of this process.
    spares: Vec<Sender<Box<Interval>>>,
    /// Those that make parts of the load, if there are any.
    others: Option<&'s dyn Others>,
    /// Kernel thread ids; 0 of a thread that is not ready.
    tids: Vec<u32>,
    backend: BackendKind,
    fallback: Option<String>,
    interrupted: bool,
    polled_ns: u64,
    /// Threads below this number open their connections.
    connecting: usize,
    connect_rate: Option<f64>,
    served: Served,
    parts: Parts,
    /// While its end is not decided.
    warmup: Option<Warmup>,
    /// Exit reason of a process that was lost during the load.
    lost: Option<String>,
}

/// Load threads whose connections are open.
pub struct Opened {
    pub messages: Inbox,
    /// Returns emptied intervals to each thread.
    pub spares: Vec<Sender<Box<Interval>>>,
    /// Kernel thread ids.
    pub tids: Vec<u32>,
    pub connect_rate: Option<f64>,
}

impl<'s> Coordinator<'s> {
    /// A coordinator of threads that were just started, in this process or in others; `spares` are those of this one.
    pub fn new(
        shared: &'s Shared,
        messages: Inbox,
        spares: Vec<Sender<Box<Interval>>>,
        others: Option<&'s dyn Others>,
    ) -> Self {
        Self {
            shared,
            messages,
            others,
            tids: vec![0; shared.options.threads.len()],
            spares,
            backend: BackendKind::Epoll,
            fallback: None,
            interrupted: false,
            polled_ns: 0,
            connecting: 0,
            connect_rate: None,
            served: Served::default(),
            parts: Parts::new(shared.options.names().len(), shared.options.steps().len()),
            warmup: None,
            lost: None,
        }
    }

    /// Waits until all connections are open, or no more are to be expected.
    pub async fn connect(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
        let result = self.wait_for_connections(observer).await;
        let (opened, _) = self.shared.connecting.counts();
        let took_ns = self.shared.connecting.took_ns().filter(|_| opened > 0);
        self.connect_rate = took_ns.map(|took| opened as f64 / took as f64 * 1e9);
        result
    }

    /// What a session keeps of connecting; `None` if the observer wanted to stop.
    pub fn into_opened(self) -> Option<Opened> {
        let Self { messages, spares, tids, connect_rate, .. } = self;
        (!self.interrupted).then_some(Opened { messages, spares, tids, connect_rate })
    }

    async fn wait_for_connections(&mut self, observer: &mut dyn Observer) -> Result<(), LoadError> {
        let Self { shared, .. } = *self;
        let (options, connecting) = (&shared.options, &shared.connecting);
        let connections = options.first_connections();
        let rate = options.connect_rate.unwrap_or(MIN_CONNECT_RATE);
        let timeout = options.timeout.as_nanos() as u64;
        let longest_gap = timeout + (1e9 / rate) as u64;
        let deadline = timeout + (connections as f64 / rate * 1e9) as u64;
        let (mut seen, mut seen_ns) = (0, 0);
        while !self.interrupted {
            self.let_connect(connecting.settled());
            match self.messages.next(CONNECT_POLL).await {
                Ok((thread, message)) => self.on_message(thread, message)?,
                Err(RecvTimeoutError::Timeout) => (),
                // Every thread has ended: a panic, which joining them shows.
                Err(RecvTimeoutError::Disconnected) => return Ok(()),
            }
            let settled = connecting.settled();
            let (opened, _) = connecting.counts();
            while let Some((host, error)) = connecting.take_error() {
                self.check_error(host, error, opened)?;
            }
            let now = shared.clock.now();
            if opened > seen {
                (seen, seen_ns) = (opened, now);
            }
            let done = settled == connections as u64 && !self.tids.contains(&0);
            if done || now > deadline || now - seen_ns > longest_gap {
                let Some(host) = connecting.unreached(|host| shared.hosts.is_among(host, connections)) else {
                    return Ok(());
                };
                let address = &shared.hosts.addresses[host];
                return Err(match connecting.has_accepted(host) {
                    true => LoadError::NoHandshake(options.target.called(host, address), options.timeout),
                    false => LoadError::NoAnswer(address.clone(), options.timeout),
                });
            }
            if self.is_poll_due(now) {
                observer.connecting(opened, connections as u64);
                self.interrupted = observer.wants_stop();
            }
        }
        Ok(())
    }

    /// Lets the next group of threads connect when the previous one has almost ended: groups connect one after another.
    fn let_connect(&mut self, settled: u64) {
        let options = &self.shared.options;
        let next = options.share(self.connecting);
        // Stages open connections of all groups at first.
        let before = if options.connection_stages.is_empty() { next.before() as u64 } else { 0 };
        if self.connecting < options.threads.len() && settled + CONNECT_AHEAD >= before {
            self.connecting += next.group;
            self.shared.connect.cancel();
            self.order(Order::Connect { threads: self.connecting });
        }
    }

    fn on_message(&mut self, thread: usize, message: Message) -> Result<(), LoadError> {
        match message {
            Message::Ready { tid, backend, fallback } => {
                self.tids[thread] = tid;
                self.backend = kind_of(backend);
                self.fallback = fallback;
            }
            Message::Failed(error) => return Err(error),
            Message::Exited => return Err(LoadError::Process(self.exit_reason(thread))),
            Message::Interval(_)
            | Message::Counts(_)
            | Message::Served(_)
            | Message::FirstFailures(_)
            | Message::Parts(_)
            | Message::Reopened
            | Message::Drained(_) => (),
        }
        Ok(())
    }

    /// Fails if the run cannot go on after an error of a first attempt to connect, with `open` connections to all hosts.
    fn check_error(&self, host: usize, error: io::Error, open: u64) -> Result<(), LoadError> {
        let address = self.shared.hosts.addresses[host].clone();
        let (options, connections) = (&self.shared.options, self.shared.options.connections);
        Err(match Errno::from_io_error(&error) {
            Some(Errno::MFILE) => LoadError::Descriptors {
                connections,
                fit: open as usize,
                limit: rustix::process::getrlimit(rustix::process::Resource::Nofile).current.unwrap_or(u64::MAX),
            },
            Some(Errno::NFILE) => LoadError::SystemDescriptors { open },
            Some(Errno::ADDRNOTAVAIL) => LoadError::Ports { address, open, range: port_range() },
            _ if self.shared.connecting.opened_to(host) > 0 || error.kind() == io::ErrorKind::TimedOut => return Ok(()),
            _ => LoadError::of_connecting(&options.target, host, address, error),
        })
    }

    fn order(&self, order: Order) {
        self.others.iter().for_each(|others| others.order(order));
    }

    fn exit_reason(&self, process: usize) -> String {
        self.others.map_or_else(String::new, |others| others.exit_reason(process))
    }

    fn is_poll_due(&mut self, now_ns: u64) -> bool {
        let is_due = now_ns - self.polled_ns >= POLL.as_nanos() as u64;
        if is_due {
            self.polled_ns = now_ns;
        }
        is_due
    }

    /// Has the threads begin, and the window open after the warm-up. Returns when: in nanoseconds of the clock, and the time of day.
    fn begin(&mut self, duration: u64) -> (u64, SystemTime) {
        let shared = self.shared;
        let now = shared.clock.now();
        let agreed = self.others.and_then(Others::agreed_start);
        let start = agreed.unwrap_or_else(|| now + self.notice().as_nanos() as u64);
        self.warmup = Warmup::new(&shared.options, start);
        let open = if self.warmup.is_some() { u64::MAX } else { start + shared.options.warmup.as_nanos() as u64 };
        let close = if self.interrupted { start } else { open.saturating_add(duration) };
        shared.begin(start, open, close);
        self.order(Order::Begin { start, open, close });
        (start, time::system_now() + Duration::from_nanos(start.saturating_sub(now)))
    }

    /// Starts the load and drives it until every thread has ended.
    pub async fn drive(&mut self, observer: &mut dyn Observer, schedules: Vec<Schedule>) -> Collector {
        let Self { shared, .. } = *self;
        observer.started(&self.tids);
        let duration = shared.options.duration.as_nanos() as u64;
        // Without a warm-up, before the load: what is opened takes milliseconds, in which the first requests would end.
        let mut opened = shared.options.warmup.is_zero() && !self.interrupted;
        if opened {
            observer.window_opened();
        }
        let (start, started_at) = self.begin(duration);
        let mut collector = Collector::new(self.tids.len(), start, started_at, schedules);
        let zero_ns = shared.clock.zero_ns();
        let mut lines = shared.options.counts.map(|counting| Lines::new(&counting, self.tids.len(), start, zero_ns));
        let (mut closed, mut ends_early) = (false, false);
        loop {
            let now = shared.clock.now();
            // Threads look for the start in each second, so they have to know it before the one that ends there.
            let notice = 4 * self.notice();
            if let Some(open) = self.warmup.as_ref().filter(|_| !closed && !ends_early).and_then(|w| w.end(now, notice))
            {
                self.warmup = None;
                shared.open_at(open, open + duration);
                self.order(Order::Open { open, close: open + duration });
            }
            let (open, close) = (shared.open.load(Relaxed), shared.close.load(Relaxed));
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
                self.order(Order::Release);
            }
            let next = [open, close].into_iter().filter(|at| *at > now).min();
            let pause = next.map_or(POLL, |at| POLL.min(Duration::from_nanos(at - now)));
            match self.messages.next(pause).await {
                Ok((thread, message)) => self.on_measured(thread, message, (&mut collector, &mut lines), observer),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => {
                    lines.iter_mut().filter_map(Lines::rest).for_each(|line| observer.counts(&line));
                    return collector;
                }
            }
            if !closed && !self.interrupted && self.is_poll_due(now) {
                self.interrupted = observer.wants_stop();
            }
            if !ends_early && !closed && (self.interrupted || self.lost.is_some()) {
                ends_early = true;
                // Later than any reply that a thread has counted, or the window would be shorter than what it counts.
                let end = shared.clock.now() + self.notice().as_nanos() as u64;
                shared.close_at(self.others.map_or(end, |others| others.close(end)));
            }
        }
    }

    fn on_measured(
        &mut self,
        thread: usize,
        message: Message,
        (collector, lines): (&mut Collector, &mut Option<Lines>),
        observer: &mut dyn Observer,
    ) {
        match message {
            Message::Interval(mut interval) => {
                collector.take(thread, &mut interval);
                // A thread that has ended needs no more of them, and other processes make their own.
                let _ = self.spares.get(thread).map(|spare| spare.send(interval));
                while let Some((mut second, response)) = collector.next_second(false) {
                    observer.second(&mut second);
                    observer.recorded(&second, &response);
                    self.warmup.iter_mut().for_each(|warmup| warmup.add(&second));
                    collector.keep(second);
                }
            }
            Message::Counts(part) => {
                if let Some(lines) = lines {
                    lines.take(thread, *part).iter().for_each(|line| observer.counts(line));
                }
            }
            Message::Served(part) => self.served.add(part),
            Message::Parts(parts) => self.parts.add(parts),
            Message::FirstFailures(told) => self.shared.first_failures.add(told),
            // Instead of a thread's, the number of a process.
            Message::Exited if self.lost.is_none() => self.lost = Some(self.exit_reason(thread)),
            Message::Failed(error) => {
                self.lost.get_or_insert_with(|| error.to_string());
            }
            // Of a load that others have prepared.
            Message::Ready { backend, fallback, .. } => (self.backend, self.fallback) = (kind_of(backend), fallback),
            Message::Exited | Message::Reopened | Message::Drained(_) => (),
        }
    }

    /// From a decision until it takes effect, so that every thread is told in time.
    fn notice(&self) -> Duration {
        NOTICE + self.others.map_or(Duration::ZERO, Others::notice)
    }
}
