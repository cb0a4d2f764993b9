//! TLS handshakes of the whole run, over all threads: their durations and outcomes.

use super::histogram::RawHistogram;
use brunt_results::{LatencySummary, latency::new_histogram, result};
use brunt_tls::HandshakeInfo;
use serde::{Deserialize, Serialize};

#[derive(Debug, Default, Serialize, Deserialize)]
pub struct Handshakes {
    /// From the accepted connection to the end of the handshake, in nanoseconds.
    time: RawHistogram,
    /// Without `time`.
    counts: result::Handshakes,
}

impl Handshakes {
    /// Counts a completed handshake that took `ns`.
    pub fn completed(&mut self, ns: u64, info: &HandshakeInfo) {
        self.time.record(ns);
        *(if info.resumed { &mut self.counts.resumed } else { &mut self.counts.full }) += 1;
        *self.counts.protocols.entry(info.protocol.clone()).or_default() += 1;
    }

    pub fn failed(&mut self) {
        self.counts.failed += 1;
    }

    /// Adds those of another process.
    pub fn add(&mut self, mut other: Self) {
        self.time.add(&other.time.take());
        self.counts.full += other.counts.full;
        self.counts.resumed += other.counts.resumed;
        self.counts.failed += other.counts.failed;
        for (protocol, count) in other.counts.protocols {
            *self.counts.protocols.entry(protocol).or_default() += count;
        }
    }

    /// What was counted until the end.
    pub fn take(&mut self) -> result::Handshakes {
        let Self { mut time, counts } = std::mem::take(self);
        let mut times = new_histogram();
        time.merge_into(&mut times);
        result::Handshakes { time: LatencySummary::of(&times), ..counts }
    }
}
