//! TLS handshakes of the whole run, over all threads: their durations and outcomes.

use brunt_results::{LatencySummary, latency::new_histogram, result};
use brunt_tls::HandshakeInfo;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

#[derive(Debug)]
pub struct Handshakes {
    /// From the accepted connection to the end of the handshake, in nanoseconds.
    time: Histogram<u64>,
    full: u64,
    resumed: u64,
    failed: u64,
    protocols: BTreeMap<String, u64>,
}

impl Default for Handshakes {
    fn default() -> Self {
        Self { time: new_histogram(), full: 0, resumed: 0, failed: 0, protocols: BTreeMap::new() }
    }
}

impl Handshakes {
    /// Counts a completed handshake that took `ns`.
    pub fn completed(&mut self, ns: u64, info: &HandshakeInfo) {
        self.time.saturating_record(ns);
        *(if info.resumed { &mut self.resumed } else { &mut self.full }) += 1;
        *self.protocols.entry(info.protocol.clone()).or_default() += 1;
    }

    pub fn failed(&mut self) {
        self.failed += 1;
    }

    pub fn summary(&self) -> result::Handshakes {
        let Self { full, resumed, failed, .. } = *self;
        result::Handshakes {
            full,
            resumed,
            failed,
            time: LatencySummary::of(&self.time),
            protocols: self.protocols.clone(),
        }
    }
}
