//! Adds up what the load threads saw: seconds for the series, lines for the log, totals for the result.
//!
//! Runs on the thread that called [`crate::run`], once a second. Histograms are added, percentiles never; a second is
//! complete when every thread has sent its interval, and seconds come out in order.

use crate::{
    measure::hlog::Hlog,
    measure::interval::{Counters, Interval, Phase, Usage},
    measure::recorder::SECOND_NS,
    schedule::Schedule,
};
use brunt_results::{latency::new_histogram, result::Latency, series::Second};
use hdrhistogram::Histogram;
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime},
};

/// The four distributions, in nanoseconds.
pub struct Distributions {
    /// done - intended.
    pub response: Histogram<u64>,
    /// done - sent.
    pub service: Histogram<u64>,
    /// sent - intended, the generator's part of it.
    pub lag: Histogram<u64>,
    /// done - intended, of failures.
    pub error: Histogram<u64>,
}

impl Default for Distributions {
    fn default() -> Self {
        Self { response: new_histogram(), service: new_histogram(), lag: new_histogram(), error: new_histogram() }
    }
}

impl Distributions {
    /// Takes the values out of an interval.
    fn merge(&mut self, interval: &mut Interval) {
        interval.response.merge_into(&mut self.response);
        interval.service.merge_into(&mut self.service);
        interval.lag.merge_into(&mut self.lag);
        interval.error.merge_into(&mut self.error);
    }

    /// A closed loop records only what its distributions do not share: response = service and lag = 0 for every request
    /// with a reply.
    fn derive(&mut self) {
        add(&mut self.response, &self.service);
        self.lag.saturating_record_n(0, self.service.len());
    }

    fn add(&mut self, other: &Self) {
        add(&mut self.response, &other.response);
        add(&mut self.service, &other.service);
        add(&mut self.lag, &other.lag);
        add(&mut self.error, &other.error);
    }

    fn log(&self, hlog: &mut Hlog, start: Duration, length: Duration) {
        for (tag, histogram) in
            [("response", &self.response), ("service", &self.service), ("lag", &self.lag), ("error", &self.error)]
        {
            hlog.add(tag, histogram, start, length);
        }
    }

    /// The figures of the result.
    pub fn summary(&self) -> Latency {
        let of = brunt_results::LatencySummary::of;
        Latency { response: of(&self.response), service: of(&self.service), lag: of(&self.lag), error: of(&self.error) }
    }
}

fn add(to: &mut Histogram<u64>, from: &Histogram<u64>) {
    to.add(from).expect("all histograms have the same bounds");
}

/// One interval of all threads together.
#[derive(Default)]
struct Slice {
    reports: usize,
    phase: Phase,
    start_ns: u64,
    end_ns: u64,
    connections: u64,
    cpu_percent: f64,
    counters: Counters,
    latency: Distributions,
}

/// What a thread consumed in the window.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct ThreadUsage {
    start: Option<Usage>,
    end: Usage,
}

impl ThreadUsage {
    /// CPU in percent of a core, and the part of it burnt on waiting.
    pub fn percent(&self) -> (f64, f64) {
        let Some(start) = self.start else { return (0.0, 0.0) };
        let share = |part: u64| 100.0 * part as f64 / (self.end.at_ns - start.at_ns).max(1) as f64;
        let cpu = self.end.cpu_ns - start.cpu_ns;
        // Waiting is timed by the clock on the wall, which goes on while others have the core.
        (share(cpu), share((self.end.spin_ns - start.spin_ns).min(cpu)))
    }
}

/// Everything the window amounts to.
pub struct Totals {
    /// Distributions of the window.
    pub latency: Distributions,
    /// Numbers of the window; `errors.connect` is that of the whole run.
    pub counters: Counters,
    /// Consumption in the window, by thread.
    pub threads: Vec<ThreadUsage>,
    /// Values above the range of the histograms.
    pub saturated: u64,
    /// One line for each second, warm-up included.
    pub seconds: Vec<Second>,
    /// The interval log.
    pub hlog: Vec<u8>,
}

/// Collects the intervals of one run.
pub struct Collector {
    start_ns: u64,
    closed_loop: bool,
    waiting: BTreeMap<u32, Slice>,
    /// Clones of the threads' schedules, to count what was due in each second whether it could be sent or not.
    offered: Vec<Schedule>,
    drain: Option<Slice>,
    hlog: Hlog,
    totals: Totals,
}

impl Collector {
    /// A collector for the load that begins at `start_ns`, which is `start` on the wall; no schedules make a closed loop.
    pub fn new(threads: usize, start_ns: u64, start: SystemTime, schedules: Vec<Schedule>) -> Self {
        Self {
            start_ns,
            closed_loop: schedules.is_empty(),
            waiting: BTreeMap::new(),
            offered: schedules,
            drain: None,
            hlog: Hlog::new(start),
            totals: Totals {
                latency: Distributions::default(),
                counters: Counters::default(),
                threads: vec![ThreadUsage::default(); threads],
                saturated: 0,
                seconds: Vec::new(),
                hlog: Vec::new(),
            },
        }
    }

    /// Takes one interval of one thread and leaves its histograms empty.
    pub fn take(&mut self, thread: usize, interval: &mut Interval) {
        let slice = match interval.phase {
            Phase::Drain => self.drain.get_or_insert_default(),
            _ => self.waiting.entry(interval.number).or_default(),
        };
        let window = interval.phase == Phase::Window;
        if matches!(interval.phase, Phase::Window | Phase::Drain) {
            self.totals.saturated += interval.response.saturated() + interval.service.saturated();
        }
        slice.reports += 1;
        slice.phase = interval.phase;
        (slice.start_ns, slice.end_ns) = (interval.start_ns, interval.end_ns.max(slice.end_ns));
        slice.connections += interval.connections;
        slice.counters.add(&interval.counters);
        slice.latency.merge(interval);
        let usage = &mut self.totals.threads[thread];
        if window {
            usage.start.get_or_insert(interval.usage_start);
            usage.end = interval.usage_end;
        }
        let span = ThreadUsage { start: Some(interval.usage_start), end: interval.usage_end };
        slice.cpu_percent += span.percent().0;
    }

    /// The next second that every thread has reported. The caller may complete it, and gives it back with [`Self::keep`].
    pub fn next_second(&mut self) -> Option<Second> {
        loop {
            let entry = self.waiting.first_entry()?;
            if entry.get().reports < self.totals.threads.len() {
                return None;
            }
            let slice = entry.remove();
            if let Some(second) = self.close(slice) {
                return Some(second);
            }
        }
    }

    /// As [`Self::next_second`] once no more intervals will come.
    pub fn last_second(&mut self) -> Option<Second> {
        while let Some((_, slice)) = self.waiting.pop_first() {
            if let Some(second) = self.close(slice) {
                return Some(second);
            }
        }
        None
    }

    /// Adds a second to the series.
    pub fn keep(&mut self, second: Second) {
        self.totals.seconds.push(second);
    }

    fn close(&mut self, mut slice: Slice) -> Option<Second> {
        if self.closed_loop {
            slice.latency.derive();
        }
        match slice.phase {
            Phase::Window => {
                self.totals.counters.add(&slice.counters);
                self.totals.latency.add(&slice.latency);
                let (start, length) = self.span(&slice);
                slice.latency.log(&mut self.hlog, start, length);
            }
            Phase::Connect | Phase::Warmup | Phase::Drain => {
                self.totals.counters.errors.connect += slice.counters.errors.connect
            }
        }
        if matches!(slice.phase, Phase::Connect | Phase::Drain) {
            return None;
        }
        let until = slice.end_ns - self.start_ns;
        let offered = self.offered.iter_mut().map(|schedule| schedule.skip_to(until)).sum();
        let us = |histogram: &Histogram<u64>, q| {
            (!histogram.is_empty()).then(|| histogram.value_at_quantile(q) as f64 / 1e3)
        };
        Some(Second {
            at_s: until as f64 / SECOND_NS as f64,
            warmup: slice.phase == Phase::Warmup,
            offered: (!self.closed_loop).then_some(offered),
            sent: slice.counters.sent,
            completed: slice.counters.completed,
            failed: slice.counters.failed,
            connections: slice.connections,
            p50_us: us(&slice.latency.response, 0.5),
            p99_us: us(&slice.latency.response, 0.99),
            lag_p99_us: us(&slice.latency.lag, 0.99),
            generator_cpu_percent: Some(slice.cpu_percent),
            ..Default::default()
        })
    }

    fn span(&self, slice: &Slice) -> (Duration, Duration) {
        (
            Duration::from_nanos(slice.start_ns.saturating_sub(self.start_ns)),
            Duration::from_nanos(slice.end_ns.saturating_sub(slice.start_ns)),
        )
    }

    /// The end: `unsent` are the schedules as far as they were taken, `close_ns` the end of the window. What was due and
    /// never sent is unanswered and has waited until the window's end, if it was due inside the window at all.
    pub fn finish(mut self, unsent: &[Schedule], open_ns: u64, close_ns: u64) -> Totals {
        let mut drain = self.drain.take().unwrap_or_default();
        let (open, close) = (open_ns - self.start_ns, close_ns.saturating_sub(self.start_ns));
        for (intended, count) in unsent.iter().flat_map(|schedule| schedule.rest(close)) {
            self.totals.counters.unanswered += count;
            if intended >= open {
                drain.latency.response.saturating_record_n(close - intended, count);
            }
        }
        self.totals.latency.add(&drain.latency);
        drain.start_ns = close_ns;
        let (start, length) = self.span(&drain);
        drain.latency.log(&mut self.hlog, start, length);
        self.totals.hlog = self.hlog.into_bytes();
        self.totals
    }
}

#[cfg(test)]
mod tests;
