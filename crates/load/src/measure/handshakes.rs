//! How long TLS handshakes have taken, over all threads and the whole run, and what they came to.

use brunt_results::{LatencySummary, latency::new_histogram, result};
use brunt_tls::HandshakeInfo;
use hdrhistogram::Histogram;
use std::collections::BTreeMap;

/// See the head of this file.
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
    /// One has taken so long and come to this.
    pub fn made(&mut self, ns: u64, greeting: &HandshakeInfo) {
        self.time.saturating_record(ns);
        *(if greeting.resumed { &mut self.resumed } else { &mut self.full }) += 1;
        match self.protocols.get_mut(&greeting.protocol) {
            Some(count) => *count += 1,
            None => drop(self.protocols.insert(greeting.protocol.clone(), 1)),
        }
    }

    /// One has come to nothing.
    pub fn failed(&mut self) {
        self.failed += 1;
    }

    /// As the result has it.
    pub fn summary(&self) -> result::Handshakes {
        result::Handshakes {
            full: self.full,
            resumed: self.resumed,
            failed: self.failed,
            time: LatencySummary::of(&self.time),
            protocols: self.protocols.clone(),
        }
    }
}
