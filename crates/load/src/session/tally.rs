//! Adds up what the load threads measured in one slice. Leaner than [`crate::measure::collector`], which makes seconds and a log
//! of a run: the next slice waits for it.

use crate::engine::commands::Drained;
use crate::measure::collector::ThreadUsage;
use crate::measure::interval::{Counters, Interval, Phase};
use crate::schedule::Schedule;
use brunt_results::{latency::new_histogram, result::Connections, slice::Measured};
use hdrhistogram::Histogram;
use std::time::Duration;

pub struct Tally {
    /// Counts of lead, window and drain.
    all: Counters,
    window: Counters,
    response: Histogram<u64>,
    censored: Histogram<u64>,
    /// Service time and lag of an open loop.
    parts: Option<[Histogram<u64>; 2]>,
    threads: Vec<ThreadUsage>,
    schedules: Vec<Schedule>,
    cpu_ns: u64,
    last_ns: u64,
    abandoned: u64,
    outstanding: u64,
}

impl Tally {
    pub fn new(threads: usize, open_loop: bool) -> Self {
        Self {
            all: Counters::default(),
            window: Counters::default(),
            response: new_histogram(),
            censored: new_histogram(),
            parts: open_loop.then(|| [new_histogram(), new_histogram()]),
            threads: vec![ThreadUsage::default(); threads],
            schedules: Vec::new(),
            cpu_ns: 0,
            last_ns: 0,
            abandoned: 0,
            outstanding: 0,
        }
    }

    /// Takes one interval of one thread and leaves its histograms empty.
    pub fn take(&mut self, thread: usize, interval: &mut Interval) {
        self.all.add(&interval.counters);
        if interval.phase >= Phase::Window {
            interval.censored.iter_mut().for_each(|waits| waits.merge_into(&mut self.censored));
            // The end of the slice has cut their waits short, not the target.
            interval.unsent.iter_mut().for_each(|waits| waits.merge_into(&mut self.response));
        }
        match interval.phase {
            Phase::Connect | Phase::Warmup => (),
            // Replies of the drain to requests of the window.
            Phase::Drain => interval.response.merge_into(&mut self.response),
            Phase::Window => {
                self.window.add(&interval.counters);
                self.threads[thread].extend(interval);
                interval.response.merge_into(&mut self.response);
                match &mut self.parts {
                    Some([service, lag]) => {
                        interval.service.merge_into(service);
                        interval.lag.merge_into(lag);
                    }
                    None => interval.service.merge_into(&mut self.response),
                }
            }
        }
        interval.clear();
    }

    /// A thread has ended its slice.
    pub fn drained(&mut self, drained: Drained) {
        self.schedules.extend(drained.schedule);
        self.cpu_ns += drained.cpu_ns;
        self.last_ns = self.last_ns.max(drained.last_ns);
        self.abandoned += drained.unsent + drained.outstanding;
        self.outstanding += drained.outstanding;
    }

    /// The report of the slice, given its times on the run's clock.
    pub fn report(
        mut self,
        [start, open, close]: [u64; 3],
        offered: Option<u64>,
        connections: Connections,
    ) -> Measured {
        let mut unanswered = self.window.unanswered;
        let until = close.saturating_sub(start);
        for (intended, count) in self.schedules.iter().flat_map(|schedule| schedule.rest(until)) {
            unanswered += count;
            if intended >= open - start {
                self.abandoned += count;
                self.response.saturating_record_n(until - intended, count);
            }
        }
        let busiest = |most: f64, thread: &ThreadUsage| {
            let (cpu, waiting) = thread.percent();
            most.max(cpu - waiting)
        };
        let mut statuses = self.window.replies.statuses().to_vec();
        statuses.sort_unstable();
        let (service, lag) = self.parts.map(|[service, lag]| (service, lag)).unzip();
        Measured {
            window: Duration::from_nanos(close.saturating_sub(open)),
            busy: Duration::from_nanos(self.last_ns.max(close).saturating_sub(start)),
            offered,
            completed: self.window.completed,
            replies: self.all.sent.saturating_sub(self.all.failed + self.outstanding),
            failed: self.all.failed,
            unanswered,
            abandoned: self.abandoned,
            waited: offered.map(|_| self.window.waited),
            sends: offered.map(|_| self.window.sends),
            errors: self.all.errors,
            response: self.response,
            censored: self.censored,
            service,
            lag,
            cpu: Duration::from_nanos(self.cpu_ns),
            busiest_percent: self.threads.iter().fold(0.0, busiest),
            sent_bytes: self.window.bytes.sent,
            received_bytes: self.window.bytes.received,
            statuses,
            connections,
        }
    }
}
