//! Reads `latency.hlog`, an HdrHistogram V2 interval log. Values are nanoseconds; times are seconds since the load began.

mod counts;
mod writer;

use crate::latency::new_histogram;
use base64::{Engine, prelude::BASE64_STANDARD};
use hdrhistogram::Histogram;
use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

pub use counts::Counts;
pub use writer::Hlog;

/// A histogram as text: HdrHistogram V2, deflated, in base64, as in an interval log.
pub fn encode(histogram: &Histogram<u64>) -> String {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).expect("a Vec takes every write");
    BASE64_STANDARD.encode(bytes)
}

/// The histogram of a text that [`encode`] or another writer of interval logs made.
pub fn decode(text: &str) -> Result<Histogram<u64>, String> {
    let wrong = |what: &dyn std::fmt::Debug| format!("a histogram cannot be read: {what:?}");
    let bytes = BASE64_STANDARD.decode(text).map_err(|error| wrong(&error))?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|error| wrong(&error))
}

/// One interval of one distribution.
#[derive(Debug, Clone)]
pub struct Interval {
    /// Start, in seconds since the load began.
    pub start_s: f64,
    /// Length in seconds; 0 for replies that arrived after the window.
    pub length_s: f64,
    /// Values in nanoseconds.
    pub values: Counts,
}

/// The intervals of one tag, in the order of the log.
pub fn read(hlog: &[u8], tag: &str) -> Result<Vec<Interval>, String> {
    let mut intervals = Vec::new();
    each(hlog, tag, |interval| {
        intervals.push(interval);
        Ok(())
    })?;
    Ok(intervals)
}

/// Calls `take` with each interval of one tag, in the order of the log.
///
/// # Errors
/// It is no interval log, or `take` fails.
pub fn each(hlog: &[u8], tag: &str, mut take: impl FnMut(Interval) -> Result<(), String>) -> Result<(), String> {
    let wrong = |what: &dyn std::fmt::Debug| format!("the interval log of '{tag}' cannot be read: {what:?}");
    for entry in IntervalLogIterator::new(hlog) {
        let LogEntry::Interval(line) = entry.map_err(|error| wrong(&error))? else {
            continue;
        };
        if line.tag().is_none_or(|of| of.as_str() != tag) {
            continue;
        }
        let values = Counts::decode(line.encoded_histogram()).map_err(|error| wrong(&error))?;
        let (start_s, length_s) = (line.start_timestamp().as_secs_f64(), line.duration().as_secs_f64());
        take(Interval { start_s, length_s, values })?;
    }
    Ok(())
}

/// The distribution of one tag, over all intervals of the log.
pub fn distribution(hlog: &[u8], tag: &str) -> Result<Histogram<u64>, String> {
    let mut sum = new_histogram();
    each(hlog, tag, |interval| interval.values.add_to(&mut sum))?;
    Ok(sum)
}

fn not_summed(error: &dyn std::fmt::Debug) -> String {
    format!("the intervals of a log do not add up: {error:?}")
}
