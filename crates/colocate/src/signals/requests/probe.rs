//! Requests of its own to the service, at fixed times whatever it does: an echo over TCP, or a GET over HTTP.
//!
//! Each counts once: when it ends, or in flight when it becomes slow. One that is due while [`MOST`] are in flight waits for the
//! first to end. Requests that are due while this thread is held up are left out: the service has no part in that.

mod connection;
mod pace;

use super::{feed::Feed, get::Url, invalid};
use crate::clock;
use crate::objective::Objective;
use brunt_results::counts::Counts;
use connection::{Connection, Outcome};
use pace::Pace;
use rustix::event::{PollFd, Timespec, poll};
use std::collections::VecDeque;
use std::io;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

/// Most requests in flight.
const MOST: usize = 64;
/// A request without a reply has failed, and its connection is replaced.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Length of a window of counts.
const WINDOW: Duration = Duration::from_millis(100);
/// Time of which the quantile is taken.
const RECENT: Duration = Duration::from_secs(1);

/// Sends requests in a thread, until the feed is stopped.
pub fn start(feed: &Arc<Feed>, url: &str, every: Option<Duration>, objective: Objective) -> io::Result<()> {
    let url = Url::parse(url)?;
    if objective.limit_ms <= 0.0 {
        return Err(invalid(format!("the limit {} ms of the objective is not above 0", objective.limit_ms)));
    }
    let feed = Arc::clone(feed);
    let work = move || Probe::new(url, every, objective, clock::now()).run(&feed);
    thread::Builder::new().name("probe".to_owned()).spawn(work).map(drop)
}

/// When a request was due, and whether it has counted.
#[derive(Debug, Clone, Copy)]
struct Request {
    due: Instant,
    has_counted: bool,
}

struct Probe {
    url: Url,
    pace: Pace,
    objective: Objective,
    next: Instant,
    /// Due, without a connection.
    waiting: VecDeque<Request>,
    busy: Vec<(Connection, Request)>,
    idle: Vec<Connection>,
    window: Instant,
    count: u64,
    slow: u64,
    failed: u64,
    /// When a request was last slow or failed.
    last_slow: Option<Instant>,
    /// Response times of the last second, each with its end.
    recent: VecDeque<(Instant, Duration)>,
}

impl Probe {
    fn new(url: Url, every: Option<Duration>, objective: Objective, now: Instant) -> Self {
        Self {
            url,
            pace: Pace::new(every, now),
            objective,
            next: now,
            waiting: VecDeque::new(),
            busy: Vec::new(),
            idle: Vec::new(),
            window: now,
            count: 0,
            slow: 0,
            failed: 0,
            last_slow: None,
            recent: VecDeque::new(),
        }
    }

    fn run(mut self, feed: &Feed) {
        while !feed.is_stopped() {
            self.begin(clock::now(), feed);
            self.wait(self.wake());
            self.receive(clock::now(), feed);
        }
    }

    /// Sends what is due, and ends a window that is over.
    fn begin(&mut self, now: Instant, feed: &Feed) {
        if now >= self.next {
            self.waiting.push_back(Request { due: now, has_counted: false });
            self.next = (self.next + self.pace.next(now, feed.wants_more(), self.last_slow)).max(now);
        }
        self.send(now, feed);
        if now >= self.window + WINDOW {
            self.report(now, feed);
        }
    }

    /// When it is to begin again.
    fn wake(&self) -> Instant {
        self.next.min(self.window + WINDOW)
    }

    fn limit(&self) -> Duration {
        Duration::from_secs_f64(self.objective.limit_ms / 1e3)
    }

    /// Gives connections to requests that wait for one. Those that have counted are not sent any more.
    fn send(&mut self, now: Instant, feed: &Feed) {
        self.waiting.retain(|request| !request.has_counted);
        while self.busy.len() < MOST
            && let Some(request) = self.waiting.pop_front()
        {
            let idle = std::iter::from_fn(|| self.idle.pop()).find_map(Connection::still_open);
            let connection = idle.map_or_else(|| Connection::open(self.url.address), Ok);
            match connection.and_then(|mut connection| connection.send(&self.url).map(|()| connection)) {
                Ok(connection) => self.busy.push((connection, request)),
                Err(error) => self.end(request, now, Err(error), feed),
            }
        }
    }

    fn wait(&self, until: Instant) {
        let left = until.saturating_duration_since(clock::now());
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut files: Vec<PollFd<'_>> = self.busy.iter().map(|(connection, _)| connection.awaited()).collect();
        // Interrupted, it is called again.
        let _ = poll(&mut files, Some(&timeout));
    }

    fn receive(&mut self, now: Instant, feed: &Feed) {
        for (mut connection, request) in std::mem::take(&mut self.busy) {
            match connection.progress(&self.url) {
                Ok(Outcome::Pending) if now < request.due + TIMEOUT => self.busy.push((connection, request)),
                Ok(Outcome::Pending) => {
                    let why = io::Error::new(io::ErrorKind::TimedOut, format!("no reply within {TIMEOUT:?}"));
                    self.end(request, now, Err(why), feed);
                }
                Ok(Outcome::Complete { stays_open }) => {
                    self.end(request, now, Ok(()), feed);
                    if stays_open {
                        self.idle.push(connection);
                    }
                }
                Err(error) => self.end(request, now, Err(error), feed),
            }
        }
    }

    /// A request has ended.
    fn end(&mut self, request: Request, now: Instant, result: io::Result<()>, feed: &Feed) {
        let response = now.saturating_duration_since(request.due);
        let is_slow = response > self.limit();
        if is_slow || result.is_ok() {
            self.recent.push_back((now, response));
        }
        if !request.has_counted {
            let is_bad = is_slow || result.is_err();
            if is_bad {
                self.last_slow = Some(now);
            }
            self.count += 1;
            self.slow += u64::from(is_bad);
            self.failed += u64::from(!is_slow && result.is_err());
        }
        if let Err(error) = result {
            feed.warn("probe", format!("a probe of {} has failed: {error}", self.url.address));
        }
    }

    /// Ends the window.
    fn report(&mut self, now: Instant, feed: &Feed) {
        let (limit, mut in_flight) = (self.limit(), Vec::new());
        for request in self.busy.iter_mut().map(|(_, request)| request).chain(&mut self.waiting) {
            let age = now.saturating_duration_since(request.due);
            in_flight.push(age);
            if age > limit && !request.has_counted {
                request.has_counted = true;
                self.last_slow = Some(now);
                self.count += 1;
                self.slow += 1;
            }
        }
        let counts = Counts {
            end: Some(feed.seconds(now)),
            seconds: (now - self.window).as_secs_f64(),
            count: std::mem::take(&mut self.count),
            slow: std::mem::take(&mut self.slow),
            failed: std::mem::take(&mut self.failed),
            latency_ms: self.latency(now, in_flight).as_secs_f64() * 1e3,
            offered: None,
            load: None,
        };
        self.window = now;
        feed.add(counts);
    }

    /// Quantile over the last second and the ages of slow requests in flight; without any, the age of the oldest.
    fn latency(&mut self, now: Instant, in_flight: Vec<Duration>) -> Duration {
        while self.recent.front().is_some_and(|(end, _)| now.saturating_duration_since(*end) > RECENT) {
            self.recent.pop_front();
        }
        let limit = self.limit();
        let slow = in_flight.iter().copied().filter(|age| *age > limit);
        let mut times: Vec<Duration> = self.recent.iter().map(|(_, time)| *time).chain(slow).collect();
        times.sort_unstable();
        let rank = (times.len() as f64 * self.objective.quantile).ceil() as usize;
        let quantile = times.get(rank.max(1) - 1).copied();
        quantile.or_else(|| in_flight.into_iter().max()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests;
