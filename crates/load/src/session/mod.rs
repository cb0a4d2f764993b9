//! Open connections that make load only in slices, on order: several sessions share the cores of their load threads, and one
//! makes load at a time while the connections of the others idle.
//!
//! ```no_run
//! # use brunt_load::session::Session;
//! # use brunt_results::slice::SliceSpec;
//! # use std::{sync::atomic::AtomicBool, time::Duration};
//! # fn compare(old: &brunt_load::Options, new: &brunt_load::Options) -> Result<(), brunt_load::LoadError> {
//! let stop = AtomicBool::new(false);
//! let mut sessions = [Session::open(old, &stop)?, Session::open(new, &stop)?];
//! for seed in 0..20 {
//!     for session in &mut sessions {
//!         let spec = SliceSpec { lead: Duration::from_millis(25), window: Duration::from_millis(100), seed };
//!         println!("{} replies", session.slice(spec)?.replies);
//!     }
//! }
//! # Ok(())
//! # }
//! ```
//!
//! - A slice is a lead, which is not measured, a window, and a drain, which lasts until every request in flight has its reply,
//!   has failed or has timed out. So each slice begins and ends with no request in flight.
//! - An open loop starts its schedule anew in each slice: equal seeds make equal intended times. Requests that were due in
//!   lead or window and are not sent by its end stay unanswered, and are never sent.
//! - Window counts and histograms follow the rules of a single load (`docs/reference/statistics.md`).
//! - Connections stay open from slice to slice. Those that the target closed between slices are opened again before the next
//!   one, unless each is used for a given number of requests only: then a request opens its connection, as in a single load.
//! - Between slices the load threads sleep in the kernel without a timer.
//! - Everything is bounded: opening a connection and each request by the timeout, a slice by its length and two timeouts.

mod tally;

use crate::engine::clock::Clock;
use crate::engine::commands::Command;
use crate::engine::coordinator::{Coordinator, Opened};
use crate::engine::inbox::{Outbox, blocking, channel};
use crate::engine::shared::Shared;
use crate::engine::{message::Message, slices::DRAIN_MARGIN};
use crate::error::LoadError;
use crate::measure::interval::Interval;
use crate::run::{make_room, thread_builder, thread_work};
use crate::schedule::Schedule;
use crate::{check, observer::Observer, options::Options};
use brunt_results::result::{Connections, Load};
use brunt_results::slice::{Measured, SliceSpec};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::{io, sync::Arc, time::Duration};
use tally::Tally;

/// From an order to the start of its lead: about the time in which a load thread wakes up.
const START_DELAY: Duration = Duration::from_micros(100);
/// Time beyond its bound after which a load thread that does not answer is given up.
const PATIENCE: Duration = Duration::from_secs(10);

/// The open connections to one target. Dropped, it closes them.
pub struct Session {
    opened: Opened,
    load: Load,
    /// Requests a second of the next slice; `None` in a closed loop.
    rate: Option<f64>,
    /// Why no further slice can be made, if a script has failed.
    broken: Option<String>,
    threads: LoadThreads,
}

/// Ends the load threads when dropped.
struct LoadThreads {
    shared: Arc<Shared>,
    handles: Vec<JoinHandle<Option<Schedule>>>,
}

impl Drop for LoadThreads {
    fn drop(&mut self) {
        self.shared.close_at(0);
        // They wait for it if not all of them could be started.
        self.shared.connect.cancel();
        self.shared.release.cancel();
        for handle in self.handles.drain(..) {
            // A panic was printed when it happened.
            let _ = handle.join();
        }
    }
}

/// Where a thread's emptied intervals go, and the thread; a worker of a simulated world ends by itself.
type Started = (Sender<Box<Interval>>, Option<JoinHandle<Option<Schedule>>>);

struct StopFlag<'a>(&'a AtomicBool);

impl Observer for StopFlag<'_> {
    fn wants_stop(&self) -> bool {
        self.0.load(Relaxed)
    }
}

impl Session {
    /// Opens all connections of `options` and waits for them; gives up once `stop` is set. Duration, warm-up and number of
    /// requests have no effect. Raises this process's soft limit of open files.
    ///
    /// # Errors
    /// As [`crate::run`], or [`LoadError::Interrupted`].
    pub fn open(options: &Options, stop: &AtomicBool) -> Result<Self, LoadError> {
        let start = |shared: &Arc<Shared>, number: usize, out: &Outbox| {
            let (spare, work) = thread_work(shared, number, out);
            Ok((spare, Some(thread_builder(number).spawn(work)?)))
        };
        blocking(Self::opened(options, stop, start))
    }

    /// As [`open`](Self::open), in the simulated world of this thread, whose load threads are its workers. Its slices are made by
    /// [`slice_in_world`](Self::slice_in_world).
    ///
    /// # Errors
    /// As [`open`](Self::open).
    #[cfg(feature = "sim")]
    pub async fn open_in_world(options: &Options, stop: &AtomicBool) -> Result<Self, LoadError> {
        let start = |shared: &Arc<Shared>, number: usize, out: &Outbox| {
            let (_ends_by_itself, spare) = crate::world::start(shared, number, out)?;
            Ok((spare, None))
        };
        Self::opened(options, stop, start).await
    }

    async fn opened(
        options: &Options,
        stop: &AtomicBool,
        start: impl Fn(&Arc<Shared>, usize, &Outbox) -> io::Result<Started>,
    ) -> Result<Self, LoadError> {
        let mut options = Options {
            duration: PATIENCE,
            warmup: Duration::ZERO,
            steady: false,
            stages: Vec::new(),
            connection_stages: Vec::new(),
            replay: None,
            requests: None,
            counts: None,
            ..options.clone()
        };
        // Figures of names are those of a whole load.
        options.target.http_mut().into_iter().for_each(|http| http.names.clear());
        check::options(&options)?;
        make_room(options.connections, options.threads.len(), options.target.replaces_connections())?;
        let shared = Arc::new(Shared::of_session(&options, Clock::start()));
        let mut threads = LoadThreads { shared: Arc::clone(&shared), handles: Vec::new() };
        let (out, messages) = channel();
        let mut spares = Vec::new();
        for (number, core) in options.threads.iter().copied().enumerate() {
            let failed = |error| LoadError::Thread { thread: number, core, error };
            let (spare, handle) = start(&shared, number, &out).map_err(failed)?;
            threads.handles.extend(handle);
            spares.push(spare);
        }
        drop(out);
        let mut coordinator = Coordinator::new(&shared, messages, spares, None);
        coordinator.connect(&mut StopFlag(stop)).await?;
        let opened = coordinator.into_opened().ok_or(LoadError::Interrupted)?;
        let load = crate::report::load(&options, 0.0);
        Ok(Self { opened, load, rate: options.rate, broken: None, threads })
    }

    /// Kernel ids of the load threads.
    pub fn threads(&self) -> &[u32] {
        &self.opened.tids
    }

    /// What was asked for, as results have it.
    pub fn load(&self) -> &Load {
        &self.load
    }

    /// Changes the rate of the following slices of an open loop, in requests a second over all connections.
    ///
    /// # Errors
    /// No such rate can be kept, or the load is a closed loop.
    pub fn set_rate(&mut self, rate: f64) -> Result<(), LoadError> {
        check::rate("-R", rate)?;
        match &mut self.rate {
            Some(old) => *old = rate,
            None => return Err(LoadError::Options("a closed loop has no rate: give -R".to_owned())),
        }
        Ok(())
    }

    /// Makes the load of one slice, and waits until no request is in flight. A target that answers badly or not at all has a
    /// report.
    ///
    /// # Errors
    /// No load can be made: the slice has no window, the script has failed, or a load thread has ended.
    pub fn slice(&mut self, spec: SliceSpec) -> Result<Measured, LoadError> {
        blocking(self.make_slice(spec))
    }

    /// As [`slice`](Self::slice), of a session in a simulated world.
    ///
    /// # Errors
    /// As [`slice`](Self::slice).
    #[cfg(feature = "sim")]
    pub async fn slice_in_world(&mut self, spec: SliceSpec) -> Result<Measured, LoadError> {
        self.make_slice(spec).await
    }

    async fn make_slice(&mut self, spec: SliceSpec) -> Result<Measured, LoadError> {
        check::slice(spec.lead, spec.window)?;
        if let Some(reason) = &self.broken {
            return Err(LoadError::Script(reason.clone()));
        }
        let shared = Arc::clone(&self.threads.shared);
        if shared.connecting.given_up() > 0 {
            self.reopen(&shared).await?;
        }
        let start = shared.clock.now() + START_DELAY.as_nanos() as u64;
        let open = start + spec.lead.as_nanos() as u64;
        let close = open + spec.window.as_nanos() as u64;
        shared.begin_slice(close);
        self.command(Command::Load { start, open, seed: spec.seed, rate: self.rate });
        let options = &shared.options;
        let mut tally = Tally::new(options.threads.len(), self.rate.is_some());
        let mut due = offered(options, self.rate, spec.seed, [start, open, close]);
        self.collect(&shared, close, &mut tally).await?;
        self.broken = shared.take_broken();
        if let Some(reason) = &self.broken {
            return Err(LoadError::Script(reason.clone()));
        }
        // Earlier than planned if the script ended the window.
        let closed = shared.close.load(Relaxed);
        if closed != close {
            due = offered(options, self.rate, spec.seed, [start, open, closed]);
        }
        let (all, peak) = shared.connecting.counts();
        let connections =
            Connections { opened: all, peak, connect_rate_per_s: self.opened.connect_rate, ..Connections::default() };
        Ok(tally.report([start, open, closed], due, connections))
    }

    async fn reopen(&mut self, shared: &Shared) -> Result<(), LoadError> {
        self.command(Command::Reopen);
        let deadline = shared.clock.now() + (2 * shared.options.timeout + PATIENCE).as_nanos() as u64;
        let mut waiting = self.opened.tids.len();
        while waiting > 0 {
            if let (_, Message::Reopened) = self.receive(shared, deadline).await? {
                waiting -= 1;
            }
        }
        Ok(())
    }

    /// Takes what the threads measured until all have drained.
    async fn collect(&mut self, shared: &Shared, close: u64, tally: &mut Tally) -> Result<(), LoadError> {
        let longest = 2 * shared.options.timeout + DRAIN_MARGIN + PATIENCE;
        let deadline = close + longest.as_nanos() as u64;
        let mut waiting = self.opened.tids.len();
        while waiting > 0 {
            match self.receive(shared, deadline).await? {
                (thread, Message::Interval(mut interval)) => {
                    tally.take(thread, &mut interval);
                    // Fails only if the thread has ended, which the next message shows.
                    let _ = self.opened.spares[thread].send(interval);
                }
                (_, Message::Drained(drained)) => {
                    tally.drained(*drained);
                    waiting -= 1;
                }
                _ => (),
            }
        }
        Ok(())
    }

    async fn receive(&self, shared: &Shared, deadline: u64) -> Result<(usize, Message), LoadError> {
        let left = deadline.saturating_sub(shared.clock.now());
        match self.opened.messages.next(Duration::from_nanos(left)).await {
            Ok((_, Message::Failed(error))) => Err(error),
            Ok(message) => Ok(message),
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => {
                Err(LoadError::Process("a load thread has stopped answering: its message above says why".to_owned()))
            }
        }
    }

    fn command(&self, command: Command) {
        if let Some(commands) = &self.threads.shared.commands {
            commands.give(command);
        }
    }
}

/// Requests due at `rate` between `open` and `close` over all threads; `None` in a closed loop.
fn offered(options: &Options, rate: Option<f64>, seed: u64, [start, open, close]: [u64; 3]) -> Option<u64> {
    let schedules = (0..options.threads.len()).map(|thread| options.schedule(rate, seed, options.share(thread)));
    let due = schedules.map(|schedule| {
        let mut schedule = schedule?;
        schedule.skip_to(open - start);
        Some(schedule.skip_to(close.saturating_sub(start)))
    });
    due.sum()
}
