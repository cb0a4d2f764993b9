//! Counts on their way from the thread of a source to the controller's tick.

use crate::clock;
use crate::readings::Requests;
use brunt_results::counts::Counts;
use std::collections::HashSet;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Counts that end so much before the newest are not added to it, in seconds.
const LONGEST: f64 = 1.0;
/// How far in the future an end may be, in seconds: clocks are read at different moments.
const AHEAD: f64 = 1.0;

#[derive(Debug)]
pub struct Feed {
    /// The same moment on two clocks; seconds of CLOCK_MONOTONIC.
    zero: (Instant, f64),
    peak: Option<f64>,
    state: Mutex<State>,
    added: Condvar,
    stop: AtomicBool,
    wants_more: AtomicBool,
}

#[derive(Debug, Default)]
struct State {
    /// Since the last poll, by end.
    waiting: Vec<(f64, Requests)>,
    end: Option<f64>,
    failure: Option<String>,
    warned: HashSet<&'static str>,
    warnings: Vec<String>,
}

impl Feed {
    pub fn new(peak: Option<f64>) -> Self {
        Self {
            zero: clock::monotonic(),
            peak,
            state: Mutex::default(),
            added: Condvar::new(),
            stop: AtomicBool::new(false),
            wants_more: AtomicBool::new(true),
        }
    }

    /// A moment in seconds of CLOCK_MONOTONIC.
    pub fn seconds(&self, at: Instant) -> f64 {
        let (zero, seconds) = self.zero;
        match at.checked_duration_since(zero) {
            Some(since) => seconds + since.as_secs_f64(),
            None => seconds - zero.duration_since(at).as_secs_f64(),
        }
    }

    /// Adds counts of a window that ends after those before; older ones are known already.
    pub fn add(&self, counts: Counts) {
        let now = self.seconds(clock::now());
        let end = counts.end.unwrap_or(now);
        if end > now + AHEAD {
            let why = format!(
                "counts end {:.1} s in the future: their clock is not CLOCK_MONOTONIC of this machine",
                end - now
            );
            return self.warn("clock", why);
        }
        let Counts { seconds, count, slow, failed, latency_ms, offered, load, .. } = counts;
        let rate = offered.unwrap_or(count as f64 / seconds);
        let load = load.or(self.peak.map(|peak| rate / peak));
        let mut state = self.state();
        if state.end.is_none_or(|last| end > last) {
            state.end = Some(end);
            state.waiting.push((end, Requests { seconds, count, slow, failed, latency_ms, load }));
            state.waiting.retain(|(earlier, _)| *earlier > end - LONGEST);
            self.added.notify_one();
        }
    }

    /// Waits until counts are there to be taken, or for so long.
    pub fn wait(&self, longest: Duration) {
        let is_none = |state: &mut State| state.waiting.is_empty();
        let _ = self.added.wait_timeout_while(self.state(), longest, is_none);
    }

    /// What was added since the last call, as one window with its end.
    pub fn take(&self) -> Option<(f64, Requests)> {
        let waiting = mem::take(&mut self.state().waiting);
        let (end, newest) = *waiting.last()?;
        let (mut sum, mut loaded) = (newest, 0.0);
        (sum.seconds, sum.count, sum.slow, sum.failed) = (0.0, 0, 0, 0);
        for (_, requests) in &waiting {
            sum.seconds += requests.seconds;
            sum.count += requests.count;
            sum.slow += requests.slow;
            sum.failed += requests.failed;
            loaded += requests.load.unwrap_or_default() * requests.seconds;
        }
        sum.load = newest.load.map(|_| loaded / sum.seconds);
        Some((end, sum))
    }

    pub fn fail(&self, why: String) {
        self.state().failure.get_or_insert(why);
    }

    pub fn failure(&self) -> Option<String> {
        self.state().failure.clone()
    }

    /// Keeps the first warning of each kind.
    pub fn warn(&self, kind: &'static str, why: String) {
        let mut state = self.state();
        if state.warned.insert(kind) {
            state.warnings.push(why);
        }
    }

    pub fn warning(&self) -> Option<String> {
        self.state().warnings.pop()
    }

    pub fn stop(&self) {
        self.stop.store(true, Relaxed);
    }

    pub fn want_more(&self, wants_more: bool) {
        self.wants_more.store(wants_more, Relaxed);
    }

    pub fn wants_more(&self) -> bool {
        self.wants_more.load(Relaxed)
    }

    pub fn is_stopped(&self) -> bool {
        self.stop.load(Relaxed)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
