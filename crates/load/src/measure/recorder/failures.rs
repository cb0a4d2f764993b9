//! Requests that fail, are lost or are abandoned, and what the result counts of them.

use super::Recorder;
use crate::measure::failure::Failure;
use crate::measure::interval::{Counters, Phase};

impl Recorder {
    /// A request has its complete reply now, which is a failure.
    #[cold]
    #[inline(never)]
    pub fn rejected(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, count: impl FnOnce(&mut Counters)) {
        if !self.counts(now_ns, intended_ns) {
            self.late(now_ns, intended_ns, true);
            if self.is_of_window(intended_ns) {
                self.current.error.record(now_ns - intended_ns);
            }
            return self.count_late(failure);
        }
        count(&mut self.current.counters);
        self.fail(now_ns, failure, intended_ns, None);
    }

    /// A request has failed now. For a timeout, `due_ns` is when it elapsed: the sweep finds it a little later.
    #[cold]
    #[inline(never)]
    pub fn failed(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, due_ns: Option<u64>) {
        if !self.counts(now_ns, intended_ns) {
            self.count_late(failure);
            return self.lose_late(now_ns, failure, intended_ns, due_ns);
        }
        self.fail(now_ns, failure, intended_ns, due_ns);
    }

    fn fail(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, due_ns: Option<u64>) {
        self.count_failure(failure);
        self.ended(now_ns, intended_ns, true);
        let is_of_warmup = failure.is_unanswered() && intended_ns < self.open_ns;
        let counts = self.current.phase == Phase::Window && !is_of_warmup;
        let waited_ns = (intended_ns >= self.from_ns).then(|| due_ns.unwrap_or(now_ns) - intended_ns);
        self.record_failure(failure, intended_ns, waited_ns, counts);
    }

    /// Records a failure and how long its request has waited, if that is kept. `counts`: it is one of the result.
    fn record_failure(&mut self, failure: Failure, intended_ns: u64, waited_ns: Option<u64>, counts: bool) {
        if counts {
            let of_window = &mut self.current.counters.of_window;
            of_window.failed += 1;
            *failure.count_in(&mut of_window.errors) += 1;
        }
        let censored_ns = waited_ns.filter(|_| failure.is_unanswered());
        waited_ns.into_iter().for_each(|ns| self.current.error.record(ns));
        censored_ns.into_iter().for_each(|ns| self.current.censored.get_or_insert_default().record(ns));
        if counts && !self.breakdown.is_empty() {
            self.breakdown.failed(intended_ns, failure, censored_ns);
        }
    }

    /// Counts the failure of a request that is none of the window, unless the window is not over.
    fn count_late(&mut self, failure: Failure) {
        if self.is_draining() {
            self.count_failure(failure);
        }
    }

    fn count_failure(&mut self, failure: Failure) {
        self.current.counters.failed += 1;
        *failure.count_in(&mut self.current.counters.errors) += 1;
    }

    /// Counts an error of a connection that could not be opened or was lost while idle.
    pub fn connection_error(&mut self, now_ns: u64, failure: Failure) {
        self.advance(now_ns);
        let Counters { errors, of_window, .. } = &mut self.current.counters;
        *failure.count_in(errors) += 1;
        if self.current.phase == Phase::Window {
            *failure.count_in(&mut of_window.errors) += 1;
        }
    }

    /// A request that was due in the window, which ended at `close_ns`, will not be sent.
    pub fn unsent(&mut self, close_ns: u64, intended_ns: u64) {
        self.outstanding -= 1;
        self.late(close_ns, intended_ns, true);
        if self.is_of_window(intended_ns) {
            self.unsent += 1;
            self.current.unsent.get_or_insert_default().record(close_ns - intended_ns);
            self.breakdown.censored(intended_ns, close_ns - intended_ns);
        }
    }

    /// A request has been lost after the window.
    fn lose_late(&mut self, now_ns: u64, failure: Failure, intended_ns: u64, due_ns: Option<u64>) {
        self.late(now_ns, intended_ns, true);
        if self.counts_after_window(intended_ns) {
            self.record_failure(failure, intended_ns, Some(due_ns.unwrap_or(now_ns) - intended_ns), true);
        }
    }

    /// A request has no outcome when the run ends.
    pub(super) fn abandon(&mut self, now_ns: u64, intended_ns: u64) {
        self.late(now_ns, intended_ns, true);
        if self.counts_after_window(intended_ns) {
            self.current.counters.abandoned += 1;
            self.current.censored.get_or_insert_default().record(now_ns - intended_ns);
            self.breakdown.censored(intended_ns, now_ns - intended_ns);
        }
    }

    /// Whether a request that was in flight at the end of the window, and is lost or abandoned, counts. In a closed loop, one that
    /// the warm-up sent has held its connection for the whole window.
    fn counts_after_window(&self, intended_ns: u64) -> bool {
        self.is_of_window(intended_ns) || self.closed_loop && !self.is_limited()
    }
}
