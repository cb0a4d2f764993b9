//! TLS handshakes of the whole run, over all threads: their durations and outcomes.

use brunt_results::{LatencySummary, latency::new_histogram, result};
use brunt_tls::HandshakeInfo;
use hdrhistogram::Histogram;

#[derive(Debug)]
pub struct Handshakes {
    /// From the accepted connection to the end of the handshake, in nanoseconds.
    time: Histogram<u64>,
    /// Without `time`.
    counts: result::Handshakes,
}

impl Default for Handshakes {
    fn default() -> Self {
        Self { time: new_histogram(), counts: result::Handshakes::default() }
    }
}

impl Handshakes {
    /// Counts a completed handshake that took `ns`.
    pub fn completed(&mut self, ns: u64, info: &HandshakeInfo) {
        self.time.saturating_record(ns);
        *(if info.resumed { &mut self.counts.resumed } else { &mut self.counts.full }) += 1;
        *self.counts.protocols.entry(info.protocol.clone()).or_default() += 1;
    }

    pub fn failed(&mut self) {
        self.counts.failed += 1;
    }

    pub fn summary(&self) -> result::Handshakes {
        result::Handshakes { time: LatencySummary::of(&self.time), ..self.counts.clone() }
    }
}
