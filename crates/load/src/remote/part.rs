//! The threads of one machine.

use super::seconds::Seconds;
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
    shared: Arc<Shared>,
    threads: Range<usize>,
}

/// Orders to a part, from any thread. Copies are of the same part.
#[derive(Clone)]
pub struct Control {
    shared: Arc<Shared>,
    first: usize,
}

/// What a part tells, in this order; each but connecting and seconds at most once.
#[derive(Debug, PartialEq, Eq)]
pub enum Told {
    /// Connections that are open.
    Connecting(u64),
    /// Each connection is open or has failed, and one at least is open.
    Connected,
    /// A second with its number, from 0; the last one before [`Self::Ended`].
    Second(u64, Vec<u8>),
    /// It cannot go on; one line.
    Failed(String),
    /// All threads have ended.
    Ended,
}

impl Part {
    /// Prepares the threads of the range. `options` are those of the whole load, with the cores of this machine for these threads. The
    /// zero of the run's clock is a time of this machine's CLOCK_MONOTONIC.
    ///
    /// # Errors
    /// The options contradict each other, or this machine cannot hold the connections.
    pub fn new(options: Options, threads: Range<usize>, zero_ns: u64) -> Result<Self, LoadError> {
        let options = Options { group: Some(options.threads.len()), ..options };
        check::options(&options)?;
        let shared = Arc::new(Shared::new(&options, Clock::since(zero_ns)));
        make_room_for(&shared, &threads)?;
        Ok(Self { shared, threads })
    }

    pub fn control(&self) -> Control {
        Control { shared: Arc::clone(&self.shared), first: self.threads.start }
    }

    /// Runs the threads until they have ended, as the [`Control`] lets them.
    pub fn run(self, mut tell: impl FnMut(Told)) {
        let Self { shared, threads } = &self;
        let mut seconds = Seconds::new(threads.start, threads.len());
        let mut connecting =
            Connecting { ready: vec![false; threads.len()], opened: 0, settled: 0, error: None, is_over: false };
        let ran = run_part(shared, threads.clone(), |report| {
            connecting.take(&report, threads.start, shared, &mut tell)?;
            seconds.add(report);
            while let Some(second) = seconds.next(shared.start.load(Relaxed), shared.close.load(Relaxed)) {
                tell(told(&second));
            }
            Ok(())
        });
        match ran {
            Ok(taken) => {
                seconds.add(Report::done(shared, taken));
                tell(told(&seconds.rest()));
                tell(Told::Ended);
            }
            Err(error) => tell(Told::Failed(error.to_string())),
        }
    }
}

fn told((number, reports): &(u64, Vec<Report>)) -> Told {
    Told::Second(*number, serde_json::to_vec(reports).expect("reports have no maps with other keys than text"))
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
    /// Does what is ordered of all threads of the load.
    pub fn obey(&self, order: Order) {
        obey(&self.shared, self.first, order);
    }

    /// Nothing is sent from then on, unless a later call comes before that. Whether the load goes on: a call that is too late ends it.
    pub fn lease(&self, until_ns: u64) -> bool {
        self.shared.lease_until(until_ns)
    }

    /// Ends the load at once.
    pub fn abandon(&self) {
        self.shared.abandon();
    }
}
