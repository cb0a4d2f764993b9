//! The shape of an open loop: which requests were due at once, which were sent close to each other, and how long connections
//! rested. Takes times that are known already, and costs a few additions a request.

use super::Recorder;
use brunt_results::result::CLOSE_NS;

impl Recorder {
    /// The schedule has given a request to a connection with capacity.
    #[inline]
    pub fn scheduled(&mut self, intended_ns: u64) {
        let sends = &mut self.current.counters.sends;
        sends.scheduled += 1;
        sends.scheduled_close += u64::from(intended_ns.saturating_sub(self.scheduled_ns) <= CLOSE_NS);
        self.scheduled_ns = intended_ns;
    }

    /// The thread has looked at its schedule, and so many requests were due.
    #[inline]
    pub fn woke_for(&mut self, requests: u64) {
        if requests > 0 {
            self.current.counters.sends.wakeups.record(requests);
        }
    }

    /// A request is sent that has not waited for a connection.
    #[inline]
    pub fn sent_at(&mut self, now_ns: u64) {
        let sends = &mut self.current.counters.sends;
        sends.sent += 1;
        sends.close += u64::from(now_ns.saturating_sub(self.sent_ns) <= CLOSE_NS);
        self.sent_ns = now_ns;
    }

    /// A connection takes a request after so long without one.
    #[inline]
    pub fn rested(&mut self, rest_ns: u64) {
        self.current.counters.sends.rested(rest_ns);
    }
}
