//! What one part of a load has measured, beside the report of all.

use crate::engine::message::Message;
use crate::measure::collector::ThreadUsage;
use crate::measure::interval::{Interval, Phase};
use crate::processes::Report;
use brunt_results::latency::new_histogram;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Of one part, so far. Copies are of the same part.
#[derive(Clone)]
pub struct Measured(Arc<Mutex<Sum>>);

struct Sum {
    completed: u64,
    response: Histogram<u64>,
    lag: Histogram<u64>,
    is_open: bool,
    threads: BTreeMap<usize, ThreadUsage>,
}

/// Figures of the measured window; times in microseconds.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    pub completed: u64,
    /// Absent without a completed request.
    pub p50_us: Option<f64>,
    pub p99_us: Option<f64>,
    pub lag_p99_us: Option<f64>,
    /// CPU time of the busiest thread without what it spent on waiting, in percent of a core.
    pub thread_cpu_percent: Option<f64>,
}

impl Measured {
    /// Nothing yet; `is_open` if requests have a schedule.
    pub(super) fn new(is_open: bool) -> Self {
        let (response, lag) = (new_histogram(), new_histogram());
        Self(Arc::new(Mutex::new(Sum { completed: 0, response, lag, is_open, threads: BTreeMap::new() })))
    }

    pub(super) fn add(&self, report: &Report) {
        let Report::Thread(thread, Message::Interval(interval)) = report else { return };
        if interval.phase == Phase::Window {
            self.lock().add(*thread, interval);
        }
    }

    pub fn figures(&self) -> Figures {
        let sum = self.lock();
        let of = |histogram: &Histogram<u64>, quantile: f64| {
            (!histogram.is_empty()).then(|| histogram.value_at_quantile(quantile) as f64 / 1e3)
        };
        Figures {
            completed: sum.completed,
            p50_us: of(&sum.response, 0.5),
            p99_us: of(&sum.response, 0.99),
            lag_p99_us: of(&sum.lag, 0.99),
            thread_cpu_percent: sum.threads.values().filter_map(ThreadUsage::busy_percent).reduce(f64::max),
        }
    }

    fn lock(&self) -> MutexGuard<'_, Sum> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Sum {
    fn add(&mut self, thread: usize, interval: &Interval) {
        self.completed = self.completed.saturating_add(interval.counters.completed);
        // In a closed loop both are the same, and one of them is recorded.
        let response = if self.is_open { &interval.response } else { &interval.service };
        response.clone().merge_into(&mut self.response);
        interval.lag.clone().merge_into(&mut self.lag);
        self.threads.entry(thread).or_default().extend(interval);
    }
}
