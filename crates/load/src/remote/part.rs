//! The threads of one machine.

use super::seconds::{Second, Seconds};
use crate::engine::clock::Clock;
use crate::engine::message::Message;
use crate::engine::others::Order;
use crate::engine::shared::Shared;
use crate::processes::{Report, make_room_for, obey, refusal, run_part};
use crate::{check, error::LoadError, options::Options};
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

/// A range of the threads of a load.
pub struct Part {
    control: Control,
    threads: Range<usize>,
}

/// Orders to a part, from any thread. Copies are of the same part. Times are nanoseconds of this machine's CLOCK_MONOTONIC.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
    first: usize,
    /// Zero of the part's clock.
    zero_ns: u64,
}

/// What a part tells, in this order; each but connecting and seconds at most once.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// Connections that are open.
    Connecting(u64),
    /// Each connection is open or has failed, and one at least is open.
    Connected,
    /// The first thread has begun to send at this time.
    Began(u64),
    /// A second with its number, from 0; the last one before [`Self::Ended`].
    Second(u64, Vec<u8>),
    /// It cannot go on; one line.
    Failed(String),
    /// All threads have ended.
    Ended,
}

impl Part {
    /// Prepares the threads of the range. `options` are those of the whole load, with the cores of this machine for these threads.
    ///
    /// # Errors
    /// The options contradict each other, or this machine cannot hold the connections.
    pub fn new(options: Options, threads: Range<usize>) -> Result<Self, LoadError> {
        let options = Options { group: Some(options.threads.len()), ..options };
        check::options(&options)?;
        let shared = Arc::new(Shared::of_part(&options, Clock::start(), threads.clone()));
        make_room_for(&shared, &threads)?;
        let zero_ns = shared.clock.zero_ns();
        Ok(Self { control: Control { shared, first: threads.start, zero_ns }, threads })
    }

    pub fn control(&self) -> Control {
        self.control.clone()
    }

    /// Runs the threads until they have ended, as the [`Control`] lets them.
    pub fn run(self, mut tell: impl FnMut(Told)) {
        let Self { control: Control { shared, zero_ns, .. }, threads } = &self;
        let mut seconds = Seconds::new(threads.start, threads.len());
        let mut connecting =
            Connecting { ready: vec![false; threads.len()], opened: 0, settled: 0, error: None, is_over: false };
        let mut has_begun = false;
        // Start of the load and end of its window. The latter is lost when the threads have ended.
        let mut times = [0, u64::MAX];
        let ran = run_part(shared, threads.clone(), |report| {
            connecting.take(&report, threads.start, shared, &mut tell)?;
            let began = shared.began.load(Relaxed);
            if !has_begun && began < u64::MAX {
                has_begun = true;
                tell(Told::Began(zero_ns + began));
            }
            seconds.add(report);
            times = [&shared.start, &shared.close].map(|time| time.load(Relaxed));
            while let Some(second) = seconds.next(times) {
                tell(told(times, second));
            }
            if shared.budget.is_some() && seconds.have_drained() {
                // Its own share is done, which nobody else knows.
                shared.release.cancel();
            }
            Ok(())
        });
        match ran {
            Ok(taken) => {
                seconds.add(Report::done(shared, threads.start, taken));
                tell(told(times, seconds.rest()));
                tell(Told::Ended);
            }
            Err(error) => tell(Told::Failed(error.to_string())),
        }
    }
}

fn told([start_ns, close_ns]: [u64; 2], (number, reports): (u64, Vec<Report>)) -> Told {
    let second = Second { start_ns, close_ns, reports };
    Told::Second(number, serde_json::to_vec(&second).expect("reports have no maps with other keys than text"))
}

struct Connecting {
    /// Threads that run.
    ready: Vec<bool>,
    opened: u64,
    /// Attempts that have ended.
    settled: u64,
    /// The first one.
    error: Option<String>,
    is_over: bool,
}

impl Connecting {
    fn take(
        &mut self,
        report: &Report,
        first: usize,
        shared: &Shared,
        tell: &mut impl FnMut(Told),
    ) -> Result<(), LoadError> {
        if let Report::Thread(thread, Message::Ready { .. }) = report {
            self.ready[thread - first] = true;
        }
        if let Report::Refused { host, error } = report {
            let address = &shared.hosts.addresses[*host];
            self.error.get_or_insert_with(|| format!("{address}: {}", refusal(error.clone())));
        }
        // The errors of these attempts were reported before.
        if let Report::Connecting(progress) = report {
            self.settled = progress.settled();
        }
        if self.is_over {
            return Ok(());
        }
        let (opened, _) = shared.connecting.counts();
        if opened != self.opened {
            self.opened = opened;
            tell(Told::Connecting(opened));
        }
        let options = &shared.options;
        let due: usize = (first..first + self.ready.len()).map(|thread| options.first_of(options.share(thread))).sum();
        if self.ready.iter().all(|ready| *ready) && self.settled >= due as u64 {
            if opened == 0 {
                let why = self.error.as_deref().unwrap_or("no attempt has an error");
                return Err(LoadError::Process(format!("no connection could be opened: {why}")));
            }
            self.is_over = true;
            tell(Told::Connected);
        }
        Ok(())
    }
}

impl Control {
    /// Opens the connections.
    pub fn connect(&self) {
        self.obey(Order::Connect { threads: self.shared.options.threads.len() });
    }

    /// Sets the start of the load, and the start and end of its window.
    pub fn begin(&self, [start, open, close]: [u64; 3]) {
        let [start, open, close] = [start, open, close].map(|time| self.own(time));
        self.obey(Order::Begin { start, open, close });
    }

    /// Ends the window early.
    pub fn close(&self, at: u64) {
        self.obey(Order::Close(self.own(at)));
    }

    /// The window is over: threads may end after their drain.
    pub fn release(&self) {
        self.obey(Order::Release);
    }

    /// Nothing is sent from then on, unless a later call comes before that. Whether the load goes on: a call that is too late ends it.
    pub fn lease(&self, until: u64) -> bool {
        self.shared.lease_until(self.own(until))
    }

    fn obey(&self, order: Order) {
        obey(&self.shared, self.first, order);
    }

    /// A time of CLOCK_MONOTONIC on the part's clock.
    fn own(&self, time: u64) -> u64 {
        time.saturating_sub(self.zero_ns)
    }

    /// Ends the load at once.
    pub fn abandon(&self) {
        self.shared.abandon();
    }
}
