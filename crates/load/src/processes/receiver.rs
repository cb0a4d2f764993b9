//! Takes what a part of the load reports, as if its threads were of this process.

use super::last::Last;
use super::{Report, refusal};
use crate::engine::inbox::Outbox;
use crate::engine::message::Message;
use crate::engine::shared::{Progress, Shared};
use crate::error::LoadError;
use crate::http::{Http, source::MAX_NAMES};
use crate::measure::possible::Before;
use std::ops::Range;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// A machine that stands still for longer after its load has nothing to tell.
const LATE: Duration = Duration::from_secs(600);

/// Requests that each thread took from its schedule; `None` until its part is done.
pub type Taken = Arc<Mutex<Vec<Option<u64>>>>;

/// Of one part.
pub struct Receiver {
    /// Number and name of the part.
    number: usize,
    name: String,
    /// Its threads.
    threads: Range<usize>,
    shared: Arc<Shared>,
    taken: Taken,
    out: Outbox,
    /// Of a number of requests that several processes share.
    last: Option<Arc<Last>>,
    progress: Progress,
    /// What each of its threads has measured last.
    before: Vec<Before>,
    /// The number that each name of the part has here.
    names: Vec<usize>,
    is_done: bool,
}

impl Receiver {
    pub fn new(
        number: usize,
        name: String,
        threads: Range<usize>,
        (shared, taken): (&Arc<Shared>, &Taken),
        out: Outbox,
    ) -> Self {
        let progress = Progress::none(shared.hosts.addresses.len());
        let (shared, taken) = (Arc::clone(shared), Arc::clone(taken));
        let (before, names) = (vec![Before::default(); threads.len()], Vec::new());
        Self { number, name, threads, shared, taken, out, last: None, progress, before, names, is_done: false }
    }

    /// The same, whose part tells when its share is done.
    pub fn counted(self, last: Option<Arc<Last>>) -> Self {
        Self { last, ..self }
    }

    /// The start of the load, and a time at which it is over, whatever held it up.
    pub fn span(&self) -> [u64; 2] {
        let options = &self.shared.options;
        let longest =
            [options.duration, options.timeout, LATE].into_iter().fold(options.warmup, Duration::saturating_add);
        let start = self.shared.start.load(Relaxed);
        [start, start.saturating_add(u64::try_from(longest.as_nanos()).unwrap_or(u64::MAX))]
    }

    /// The part is gone.
    pub fn exited(&self) {
        if !self.is_done {
            self.out.send(self.number, Message::Exited);
        }
    }

    /// The part is of no use: the run ends for this reason.
    pub fn fail(&mut self, why: &str) {
        self.is_done = true;
        let error = LoadError::Process(format!("{}: {why}", self.name));
        self.out.send(self.threads.start, Message::Failed(error));
    }

    /// # Errors
    /// No thread of the part can have reported this; nothing is taken.
    pub fn take(&mut self, report: Report) -> Result<(), String> {
        if !self.is_possible(&report) {
            return Err("it reports what does not belong to its part of the load".to_owned());
        }
        match report {
            Report::ShareDone(at) => {
                let end = self.last.take().and_then(|last| last.tell(at));
                end.into_iter().for_each(|end| self.shared.close_at(end));
            }
            Report::Names(names) => {
                let script = self.shared.options.target.http().and_then(Http::script);
                let number = |name: &String| script.map_or(0, |script| usize::from(script.number(name)));
                self.names = names.iter().map(number).collect();
            }
            Report::Thread(thread, Message::Parts(parts)) if !self.names.is_empty() => {
                let parts = parts.renumbered(|old| self.names.get(old).copied().unwrap_or(old));
                self.out.send(thread, Message::Parts(parts));
            }
            Report::Thread(thread, message) => self.out.send(thread, message),
            Report::Refused { host, error } => {
                self.shared.connecting.fail(host, refusal(error));
            }
            Report::Connecting(now) => {
                self.shared.connecting.advance(&self.progress, &now);
                self.progress = now;
            }
            Report::Failed(reason) => {
                self.fail(&reason);
            }
            Report::Done { taken: counts, handshakes, outages, left } => {
                self.is_done = true;
                let script = self.shared.options.target.http().and_then(Http::script);
                let put =
                    |(thread, text): &(usize, String)| script.map_or(Ok(()), |script| script.put_left(*thread, text));
                left.iter().try_for_each(put)?;
                self.shared.handshakes().add(handshakes);
                self.shared.outages.join(outages);
                let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
                taken.iter_mut().skip(self.threads.start).zip(counts).for_each(|(thread, count)| *thread = count);
            }
        }
        Ok(())
    }

    /// What comes from another machine is not trusted to name what is there.
    fn is_possible(&mut self, report: &Report) -> bool {
        let (hosts, [start, latest]) = (self.shared.hosts.addresses.len(), self.span());
        match report {
            Report::Thread(thread, _) if !self.threads.contains(thread) => false,
            Report::Thread(thread, Message::Interval(interval)) => {
                self.before[thread - self.threads.start].is_followed_by(interval, [start, latest])
            }
            Report::Thread(_, Message::Counts(part)) => part.until_ns <= latest,
            Report::Thread(..) => true,
            Report::Refused { host, .. } => *host < hosts,
            Report::Connecting(now) => now.follows(&self.progress),
            Report::Names(names) => names.len() <= MAX_NAMES + 1,
            Report::Done { taken, left, outages, .. } => {
                // No schedule has more, and it is advanced by so many.
                let most = self.shared.options.most_requests();
                taken.len() <= self.threads.len()
                    && taken.iter().flatten().all(|taken| *taken <= most)
                    && outages.iter().all(|outage| outage.host < hosts)
                    && left.iter().all(|(thread, _)| self.threads.contains(thread))
            }
            Report::ShareDone(at) => (start..=latest).contains(at),
            Report::Failed(_) => true,
        }
    }
}
