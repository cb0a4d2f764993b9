//! The report of a load that other machines make.

use super::measured::Measured;
use super::seconds::Second;
use super::shift::shift;
use crate::engine::clock::Clock;
use crate::engine::coordinator::Coordinator;
use crate::engine::inbox::channel;
use crate::engine::others::Others;
use crate::engine::shared::Shared;
use crate::observer::Observer;
use crate::processes::{Last, Receiver, Taken, drive};
use crate::{check, error::LoadError, options::Options, report};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex};

/// Takes the seconds of one part, once the load has begun.
pub struct Feed {
    receiver: Receiver,
    shared: Arc<Shared>,
    measured: Measured,
    /// Until the part has told its end; `None` of a load without a number of requests, whose end is known before.
    last: Option<Arc<Last>>,
}

impl Feed {
    /// Takes the next second.
    ///
    /// # Errors
    /// The bytes are not those of a second; one line.
    pub fn take(&mut self, second: &[u8]) -> Result<(), String> {
        let second: Second = serde_json::from_slice(second).map_err(|error| error.to_string())?;
        let by = self.shared.start.load(Relaxed) as i64 - second.start_ns as i64;
        let last = self.last.take_if(|_| second.is_last());
        let Second { close_ns, reports, .. } = second;
        // Before the reports, which wake the coordinator.
        let (close_ns, [start, latest]) = (close_ns.saturating_add_signed(by), self.receiver.span());
        if last.is_some() && !(start..=latest).contains(&close_ns) {
            return Err("it ends at a time that is not one of its load".to_owned());
        }
        let end = last.and_then(|last| last.tell(close_ns));
        end.into_iter().for_each(|end| self.shared.close_at(end));
        for mut report in reports {
            shift(&mut report, by);
            self.measured.add(&report);
            self.receiver.take(report)?;
        }
        Ok(())
    }

    /// What the part has measured.
    pub fn measured(&self) -> Measured {
        self.measured.clone()
    }

    /// The part is gone: the run ends.
    pub fn lost(&self) {
        self.receiver.exited();
    }
}

/// Coordinates the load of `options`, whose parts are those of the `machines`: for each its name and its first thread. `others` gets the feed of
/// each, and zero of the run's clock in nanoseconds of CLOCK_MONOTONIC; it returns once the load is about to begin. Feeds take seconds from
/// [`Order::Begin`](super::Order::Begin) on. Blocks until the run is over. Calls the observer on this thread.
///
/// # Errors
/// There is no result: the options contradict each other, or the load did not begin.
pub fn coordinate<O: Others>(
    options: &Options,
    machines: &[(String, usize)],
    others: impl FnOnce(Vec<Feed>, u64) -> Result<O, LoadError>,
    observer: &mut dyn Observer,
) -> Result<report::Report, LoadError> {
    let options = &Options { group: Some(options.threads.len()), ..options.clone() };
    check::settings(options)?;
    // Zero is before all that any machine reports.
    let shared = Arc::new(Shared::new(options, Clock::since(0)));
    let taken = Taken::new(Mutex::new(vec![None; options.threads.len()]));
    let (out, messages) = channel();
    let last = options.requests.map(|_| Arc::new(Last::of(machines.len())));
    let end = |number: usize| machines.get(number + 1).map_or(options.threads.len(), |(_, first)| *first);
    let feeds = machines.iter().enumerate().map(|(number, (name, first))| Feed {
        receiver: Receiver::new(number, name.clone(), *first..end(number), (&shared, &taken), out.clone()),
        shared: Arc::clone(&shared),
        measured: Measured::new(options.rate.is_some()),
        last: last.clone(),
    });
    let others = others(feeds.collect(), shared.clock.zero_ns())?;
    drop(out);
    let coordinator = Coordinator::new(&shared, messages, Vec::new(), Some(&others));
    Ok(drive(coordinator, options, &taken, observer))
}
