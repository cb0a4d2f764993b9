//! Adds up the intervals of all load threads: seconds for the series, lines for the log, totals for the result.
//!
//! Runs on the thread that called [`crate::run`], once a second. Histograms are added, percentiles never. A second is
//! complete when every thread has sent its interval; seconds come out in order.

use super::interval::{Counters, Interval, Phase, Usage};
use super::recorder::SECOND_NS;
use crate::schedule::Schedule;
use brunt_results::latency::{add_censored, new_histogram};
use brunt_results::series::{Second, SoFar};
use brunt_results::{LatencySummary, Percentile, hlog::Hlog, result::Latency};
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

/// The distributions of [`Latency`], in nanoseconds.
pub struct Distributions {
    /// Of requests with a reply.
    pub response: Histogram<u64>,
    /// How long those without a complete reply have waited, never sent ones included, if there are any.
    pub censored: Option<Histogram<u64>>,
    pub service: Histogram<u64>,
    pub lag: Histogram<u64>,
    pub error: Histogram<u64>,
    /// Of replies that came in several receives.
    pieces: Option<PiecesSum>,
}

struct PiecesSum {
    first_byte: Histogram<u64>,
    service: Histogram<u64>,
}

impl Default for PiecesSum {
    fn default() -> Self {
        Self { first_byte: new_histogram(), service: new_histogram() }
    }
}

impl Default for Distributions {
    fn default() -> Self {
        let [response, service, lag, error] = [(); 4].map(|()| new_histogram());
        Self { response, censored: None, service, lag, error, pieces: None }
    }
}

impl Distributions {
    fn merge(&mut self, interval: &mut Interval) {
        interval.response.merge_into(&mut self.response);
        for waits in interval.censored.iter_mut().chain(&mut interval.unsent) {
            waits.merge_into(self.censored.get_or_insert_with(new_histogram));
        }
        interval.service.merge_into(&mut self.service);
        interval.lag.merge_into(&mut self.lag);
        interval.error.merge_into(&mut self.error);
        if let Some(pieces) = &mut interval.pieces {
            let sum = self.pieces.get_or_insert_default();
            pieces.first_byte.merge_into(&mut sum.first_byte);
            pieces.service.merge_into(&mut sum.service);
        }
    }

    /// Adds what a closed loop does not record: for every request with a reply, response = service and lag = 0.
    fn derive(&mut self) {
        add(&mut self.response, &self.service);
        self.lag.saturating_record_n(0, self.service.len());
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.response, &other.response);
        if let Some(waits) = &other.censored {
            add(self.censored.get_or_insert_with(new_histogram), waits);
        }
        add(&mut self.service, &other.service);
        add(&mut self.lag, &other.lag);
        add(&mut self.error, &other.error);
        if let Some(other) = &other.pieces {
            let sum = self.pieces.get_or_insert_default();
            add(&mut sum.first_byte, &other.first_byte);
            add(&mut sum.service, &other.service);
        }
    }

    /// Times to the first byte of all replies of a protocol that tells them: a reply that came in one receive had its first
    /// byte when it was complete.
    pub fn first_byte(&self) -> Histogram<u64> {
        let mut times = self.service.clone();
        if let Some(pieces) = &self.pieces {
            times.subtract(&pieces.service).expect("pieces are a part of all, with the same bounds");
            add(&mut times, &pieces.first_byte);
        }
        times
    }

    /// As the log names them.
    fn by_tag(&self) -> impl Iterator<Item = (&'static str, &Histogram<u64>)> {
        let always =
            [("response", &self.response), ("service", &self.service), ("lag", &self.lag), ("error", &self.error)];
        always.into_iter().chain(self.censored.iter().map(|waits| ("censored", waits)))
    }

    /// The response times of all requests: those without a reply are at least as long as the longest answered.
    fn all_responses(&self) -> Histogram<u64> {
        let mut all = self.response.clone();
        self.censored.iter().for_each(|waits| add_censored(&mut all, waits, self.response.max()));
        all
    }

    fn response_summary(&self, percentiles: &[Percentile]) -> LatencySummary {
        LatencySummary::censored(percentiles, &self.response, self.censored.as_ref())
    }

    /// `tells_first_byte`: the protocol tells when the first byte of a reply came.
    pub fn summary(&self, percentiles: &[Percentile], tells_first_byte: bool) -> Latency {
        let summary = |histogram: &Histogram<u64>| LatencySummary::with(percentiles, histogram);
        Latency {
            response: self.response_summary(percentiles),
            service: summary(&self.service),
            first_byte: tells_first_byte.then(|| summary(&self.first_byte())),
            lag: summary(&self.lag),
            error: summary(&self.error),
        }
    }
}

fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    // Adding visits every cell.
    if !from.is_empty() {
        to.add(from).expect("all histograms have the same bounds");
    }
}

#[derive(Default)]
struct Slice {
    /// Threads whose interval is added.
    reports: usize,
    phase: Phase,
    start_ns: u64,
    end_ns: u64,
    connections: u64,
    cpu_percent: f64,
    counters: Counters,
    /// `None` while connections are opened: no request is sent then.
    latency: Option<Box<Distributions>>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThreadUsage {
    start: Option<Usage>,
    end: Usage,
}

impl ThreadUsage {
    /// Adds an interval that follows those before it.
    pub fn extend(&mut self, interval: &Interval) {
        self.start.get_or_insert(interval.usage_start);
        self.end = interval.usage_end;
    }

    /// CPU time without what was spent on waiting, in percent of a core; `None` before the window.
    pub fn busy_percent(&self) -> Option<f64> {
        let (cpu, spin) = self.percent();
        self.start.map(|_| cpu - spin)
    }

    /// CPU time in percent of a core, and the part of it spent on waiting.
    pub fn percent(&self) -> (f64, f64) {
        let Some(start) = self.start else { return (0.0, 0.0) };
        let share = |part: u64| 100.0 * part as f64 / (self.end.at_ns - start.at_ns).max(1) as f64;
        let cpu = self.end.cpu_ns - start.cpu_ns;
        // Waiting is measured in wall time, which includes time the thread was preempted.
        (share(cpu), share((self.end.spin_ns - start.spin_ns).min(cpu)))
    }
}

#[derive(Default)]
pub struct Totals {
    pub latency: Distributions,
    /// Counts of the window, except `of_window.errors.connect`, which is that of the whole run.
    pub counters: Counters,
    /// Requests of the schedules that were due in the window.
    pub due: u64,
    pub threads: Vec<ThreadUsage>,
    /// Values above the range of the histograms.
    pub saturated: u64,
    /// One entry for each second, warm-up included.
    pub seconds: Vec<Second>,
    pub hlog: Vec<u8>,
}

pub struct Collector {
    start_ns: u64,
    closed_loop: bool,
    /// Intervals that some threads have yet to report, by number.
    incomplete: BTreeMap<u32, Slice>,
    /// Number of the last interval of each thread, that of its drain: it reports none of a later second. A part of a load may end
    /// before the others.
    ended: Vec<Option<u32>>,
    /// Clones of the threads' schedules, to count what was due in each second, sent or not.
    offered: Vec<Schedule>,
    drain: Option<Slice>,
    hlog: Hlog,
    totals: Totals,
}

impl Collector {
    /// A collector for the load that begins at `start_ns`, which is `start` of the system clock. A closed loop has no
    /// schedules.
    pub fn new(threads: usize, start_ns: u64, start: SystemTime, schedules: Vec<Schedule>) -> Self {
        Self {
            start_ns,
            closed_loop: schedules.is_empty(),
            incomplete: BTreeMap::new(),
            ended: vec![None; threads],
            offered: schedules,
            drain: None,
            hlog: Hlog::new(start),
            totals: Totals { threads: vec![ThreadUsage::default(); threads], ..Totals::default() },
        }
    }

    /// Takes one interval of one thread and leaves its histograms empty.
    pub fn take(&mut self, thread: usize, interval: &mut Interval) {
        let slice = match interval.phase {
            Phase::Drain => self.drain.get_or_insert_default(),
            _ => self.incomplete.entry(interval.number).or_default(),
        };
        if interval.phase == Phase::Drain {
            self.ended[thread] = Some(interval.number);
        }
        let window = interval.phase == Phase::Window;
        if matches!(interval.phase, Phase::Window | Phase::Drain) {
            let censored = interval.censored.as_ref().map_or(0, |waits| waits.saturated);
            self.totals.saturated += interval.response.saturated + interval.service.saturated + censored;
        }
        slice.reports += 1;
        slice.phase = interval.phase;
        (slice.start_ns, slice.end_ns) = (interval.start_ns, interval.end_ns.max(slice.end_ns));
        slice.connections += interval.connections;
        slice.counters.add(&interval.counters);
        if interval.phase != Phase::Connect {
            slice.latency.get_or_insert_default().merge(interval);
        }
        let usage = &mut self.totals.threads[thread];
        if window {
            usage.extend(interval);
        }
        let span = ThreadUsage { start: Some(interval.usage_start), end: interval.usage_end };
        slice.cpu_percent += span.percent().0;
    }

    /// The next second that every thread has reported that had not ended before, or, if no more reports will come (`last`), the next
    /// one, and its response times. The caller may add to it, and returns it with [`Self::keep`].
    pub fn next_second(&mut self, last: bool) -> Option<(Second, Histogram<u64>)> {
        loop {
            let entry = self.incomplete.first_entry()?;
            let before = self.ended.iter().flatten().filter(|last| **last <= *entry.key()).count();
            if !last && entry.get().reports + before < self.totals.threads.len() {
                return None;
            }
            let slice = entry.remove();
            if let Some(complete) = self.close(slice) {
                return Some(complete);
            }
        }
    }

    /// Only the last second keeps the figures so far, which are many.
    pub fn keep(&mut self, second: Second) {
        self.totals.seconds.last_mut().into_iter().for_each(|last| last.so_far = None);
        self.totals.seconds.push(second);
    }

    fn close(&mut self, mut slice: Slice) -> Option<(Second, Histogram<u64>)> {
        if slice.phase != Phase::Window {
            self.totals.counters.of_window.errors.connect += slice.counters.errors.connect;
        }
        if slice.phase == Phase::Connect {
            return None;
        }
        let mut latency = *slice.latency.take()?;
        if self.closed_loop {
            latency.derive();
        }
        if slice.phase == Phase::Window {
            self.totals.counters.add(&slice.counters);
            self.totals.latency.add(&latency);
            self.log(&latency, [slice.start_ns, slice.end_ns]);
        }
        let until = slice.end_ns - self.start_ns;
        let offered = self.offered.iter_mut().map(|schedule| schedule.skip_to(until)).sum();
        if slice.phase == Phase::Window {
            self.totals.due += offered;
        }
        let us = |histogram: &Histogram<u64>, q| {
            (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / 1e3)
        };
        let all = latency.all_responses();
        let censored = latency.censored.as_ref().map_or(0, Histogram::len);
        let second = Second {
            at_s: until as f64 / SECOND_NS as f64,
            warmup: slice.phase == Phase::Warmup,
            offered: (!self.closed_loop).then_some(offered),
            sent: slice.counters.sent,
            completed: slice.counters.completed,
            failed: slice.counters.failed,
            connections: slice.connections,
            censored_share: (censored > 0).then(|| censored as f64 / all.len() as f64),
            p50_us: us(&all, 0.5),
            p99_us: us(&all, 0.99),
            p999_us: us(&all, 0.999),
            lag_p99_us: us(&latency.lag, 0.99),
            generator_cpu_percent: Some(slice.cpu_percent),
            so_far: Some(Box::new(self.so_far())),
            ..Default::default()
        };
        Some((second, all))
    }

    fn so_far(&self) -> SoFar {
        let Totals { latency, counters, threads, due, .. } = &self.totals;
        let lag = &latency.lag;
        SoFar {
            response: latency.response_summary(&[]),
            lag_p99_us: (!lag.is_empty()).then(|| lag.value_at_quantile(0.99) as f64 / 1e3),
            // Those that were due and have not been sent wait too.
            waited: counters.waited + due.saturating_sub(counters.sent),
            errors: counters.of_window.errors.clone(),
            failed: Some(counters.of_window.failed),
            busiest_thread_percent: threads.iter().filter_map(ThreadUsage::busy_percent).reduce(f64::max),
        }
    }

    /// Logs an interval by its start and end in the run's clock.
    fn log(&mut self, latency: &Distributions, [start_ns, end_ns]: [u64; 2]) {
        let start = Duration::from_nanos(start_ns.saturating_sub(self.start_ns));
        let length = Duration::from_nanos(end_ns.saturating_sub(start_ns));
        for (tag, histogram) in latency.by_tag() {
            self.hlog.add(tag, histogram, start, length);
        }
    }

    /// The totals. `unsent` are the schedules as far as they were taken: a request due before `close_ns` and never sent is
    /// unanswered, and has waited until then if it was due after `open_ns`. `never_sent` gets the latter: when they were due, in
    /// nanoseconds after `open_ns`, how long they have waited, and their number.
    pub fn finish(
        mut self,
        unsent: &[Schedule],
        [open_ns, close_ns]: [u64; 2],
        mut never_sent: impl FnMut(u64, u64, u64),
    ) -> Totals {
        let mut drain = self.drain.take().unwrap_or_default();
        let mut late = drain.latency.take().unwrap_or_default();
        let (open, close) = (open_ns - self.start_ns, close_ns.saturating_sub(self.start_ns));
        for (intended, count) in unsent.iter().flat_map(|schedule| schedule.rest(close)) {
            self.totals.counters.unanswered += count;
            if intended >= open {
                drain.counters.abandoned += count;
                // It found every connection busy from then on.
                self.totals.counters.waited += count;
                late.censored.get_or_insert_with(new_histogram).saturating_record_n(close - intended, count);
                never_sent(intended - open, close - intended, count);
            }
        }
        let Totals { counters, .. } = &mut self.totals;
        (counters.abandoned, counters.left_ns) = (drain.counters.abandoned, drain.counters.left_ns);
        // Those that were lost after the window are no longer among those that it left.
        counters.unanswered = counters.unanswered.saturating_sub(drain.counters.of_window.failed);
        counters.of_window.add(&drain.counters.of_window);
        // Of the ends of connections after the last reply.
        counters.kept_open += drain.counters.kept_open;
        self.totals.latency.add(&late);
        // How long these are at least is known when the longest answered is.
        let Distributions { response, censored, .. } = &self.totals.latency;
        censored.iter().for_each(|waits| add_censored(&mut late.response, waits, response.max()));
        self.log(&late, [close_ns, drain.end_ns]);
        self.totals.hlog = self.hlog.bytes;
        self.totals
    }
}

#[cfg(test)]
mod tests;
