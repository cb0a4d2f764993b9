//! What follows from the figures of a result.

use super::RunResult;

/// Largest shortfall of the achieved rate, as a share of the offered rate, besides counting noise.
pub const RATE_TOLERANCE: f64 = 0.02;

impl RunResult {
    /// Abandoned requests that have failed: those of an open loop, of a target that answered none, and those of a closed loop that
    /// the target has left.
    pub fn abandoned_failures(&self) -> u64 {
        let requests = &self.requests;
        let have_failed = requests.offered_rate.is_some() || requests.completed == 0 || self.has_left_some();
        if have_failed { requests.abandoned } else { 0 }
    }

    /// Whether a request that was sent, and has no outcome, has been without a reply for more than twice the longest service: the
    /// target is not slow, but has left it. What was in flight when the run was interrupted tells nothing.
    fn has_left_some(&self) -> bool {
        let (left, served) = (self.requests.left_us, self.latency.service.max_us);
        let is_longer = left.zip(served).is_some_and(|(left, served)| left > 2.0 * served);
        self.requests.abandoned > 0 && !self.interrupted && is_longer
    }

    /// The rate at which requests were due: that of those that were due in the window, which may be too short for the rate of the
    /// schedule; and that of the schedule, if a number of requests took longer than it and their longest service.
    pub fn expected_rate(&self) -> Option<f64> {
        let requests = &self.requests;
        let due_rate = requests.due_rate(self.load.measured_s);
        let (Some(offered), Some(due), Some(_)) = (requests.offered_rate, requests.due, self.load.requests) else {
            return due_rate;
        };
        let (paced_s, noise_s) = (due as f64 / offered, 3.0 * (due as f64).sqrt() / offered);
        let served_s = self.latency.service.max_us.unwrap_or_default() / 1e6;
        let is_late = self.load.measured_s > paced_s * (1.0 + RATE_TOLERANCE) + noise_s + served_s;
        if is_late && self.steps.is_empty() { Some(offered) } else { due_rate }
    }

    /// The rate that was missed, if the answered one is less, by more than the tolerance and counting noise: three standard
    /// deviations of a Poisson count.
    pub fn missed_rate(&self) -> Option<f64> {
        let (expected, measured_s) = (self.expected_rate()?, self.load.measured_s);
        let noise = 3.0 * (expected * measured_s).sqrt() / measured_s.max(1e-9);
        (self.requests.rate < expected * (1.0 - RATE_TOLERANCE) - noise).then_some(expected)
    }

    /// Whether the number of connections changed in the window by itself.
    pub fn has_changing_connections(&self) -> bool {
        self.steps.iter().any(|step| step.connections.is_some())
    }

    /// Bytes of a reply, head and body if the tester counts both, else the body. Includes failed replies, because their bytes are
    /// counted too. `None` where more than 1 % of the replies that brought bytes may answer requests of the warm-up: a window of
    /// a number of requests does not count them, and begins with one in flight on each connection.
    pub fn bytes_per_reply(&self) -> Option<f64> {
        let responses = self.responses.as_ref()?;
        let replies = self.requests.completed + self.errors.status + self.errors.mismatch;
        let has_warmup = self.load.requests.is_some() && self.load.warmup_s > 0.0;
        let others = if has_warmup { self.connections.peak } else { 0 };
        let bytes = match self.bytes.received {
            0 => responses.body_bytes?,
            _ if 100 * others > replies => return None,
            all => all,
        };
        (replies > 0).then(|| bytes as f64 / replies as f64)
    }

    /// Requests and connections that failed, [`Self::abandoned_failures`] included.
    pub fn failures(&self) -> u64 {
        self.errors.total().max(self.requests.failed) + self.abandoned_failures()
    }

    /// Connections that failed without a request.
    pub fn failed_connections(&self) -> u64 {
        self.errors.total().saturating_sub(self.requests.failed)
    }

    /// What [`Self::failures`] is a part of: the requests that were due, or those that were answered or failed, and the failures of
    /// connections.
    pub fn attempts(&self) -> u64 {
        let failures = self.failures();
        let due = self.requests.due.map(|due| (due + self.failed_connections()).max(failures));
        due.unwrap_or(self.requests.completed + failures)
    }

    /// Whether requests have failed: without other failures, what a target that answers leaves unanswered is a missed rate, if the
    /// rate was missed.
    pub fn has_failed(&self) -> bool {
        let (failures, abandoned) = (self.failures(), self.abandoned_failures());
        let is_left = abandoned > 0 && self.has_left_some() && self.missed_rate().is_none();
        failures > abandoned || abandoned > 0 && self.requests.completed == 0 || is_left
    }

    /// CPU time of a completed request in microseconds, of a process that uses so many percent of a core.
    pub fn us_per_request(&self, cpu_percent: Option<f64>) -> Option<f64> {
        let completed = Some(self.requests.completed).filter(|completed| *completed > 0)?;
        Some(cpu_percent? / 100.0 * self.load.measured_s * 1e6 / completed as f64)
    }

    /// The failures by kind, as `3 timeout, 1 unanswered`; empty if there are none.
    pub fn failure_words(&self) -> String {
        let unanswered = Some(self.abandoned_failures()).filter(|count| *count > 0);
        let words = [Some(self.errors.words()), unanswered.map(|count| format!("{count} unanswered"))];
        words.into_iter().flatten().filter(|words| !words.is_empty()).collect::<Vec<_>>().join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failures_of_an_open_loop_are_a_part_of_what_was_due() {
        // A target with a backlog: the replies of the window are those of the warm-up.
        let mut result = RunResult::new("brunt");
        (result.requests.completed, result.requests.failed, result.requests.abandoned) = (3, 36, 4964);
        (result.requests.offered_rate, result.requests.due) = (Some(5000.0), Some(5000));
        result.errors.timeout = 36;
        assert_eq!((result.failures(), result.attempts()), (5000, 5000));
        // Connections that could not be opened are failures beside the requests.
        result.errors.connect = 7;
        assert_eq!((result.failures(), result.attempts()), (5007, 5007));
        // Refused replies to the warm-up.
        result.requests.failed = 40;
        (result.errors.connect, result.errors.status) = (0, 4);
        assert_eq!((result.failures(), result.attempts()), (5004, 5004));
        (result.requests.offered_rate, result.requests.due) = (None, None);
        assert_eq!((result.failures(), result.attempts()), (40, 43));
    }
}
