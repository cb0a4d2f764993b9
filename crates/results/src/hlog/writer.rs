//! Writer of `latency.hlog`: an HdrHistogram V2 interval log, one line for each distribution and second, or slice,
//! of the window.
//!
//! The lines of a tag add up exactly to that distribution of the result: the warm-up is left out, and replies after the end of
//! the window are in the last line. So are, of the response times, all requests without a complete reply, each at least as long
//! as the longest answered; `censored` has what they waited, in the interval in which that ended. Times are seconds since the
//! load began, values nanoseconds; the column of maxima is in milliseconds, as other tools write it.

use hdrhistogram::Histogram;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::serialization::interval_log::{IntervalLogWriterBuilder, Tag};
use std::time::{Duration, SystemTime};

/// Nanoseconds per millisecond, for the column of maxima.
const MAX_DIVISOR: f64 = 1e6;

pub struct Hlog {
    pub bytes: Vec<u8>,
    serializer: V2DeflateSerializer,
}

impl Hlog {
    pub fn new(start: SystemTime) -> Self {
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        // Other readers look for the version comment. They all read the column names as a comment.
        IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("[Values in nanoseconds; tags: response, service, lag, error, censored]")
            .add_comment(
                "[censored: requests without a complete reply; response has them in its last line as its longest]",
            )
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(MAX_DIVISOR)
            .begin_log_with(&mut bytes, &mut serializer)
            .expect("a Vec takes every write");
        Self { bytes, serializer }
    }

    /// Adds one distribution of one interval, unless it is empty.
    pub fn add(&mut self, tag: &'static str, histogram: &Histogram<u64>, start: Duration, length: Duration) {
        if histogram.is_empty() {
            return;
        }
        // A writer borrows its buffer for life, so each line has a writer of its own; the repeated header is cut off.
        let mut line = Vec::new();
        IntervalLogWriterBuilder::new()
            .with_max_value_divisor(MAX_DIVISOR)
            .begin_log_with(&mut line, &mut self.serializer)
            .expect("a Vec takes every write")
            .write_histogram(histogram, start, length, Tag::new(tag))
            .expect("a histogram of our own bounds can be written");
        let header = line.iter().position(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        self.bytes.extend_from_slice(&line[header..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hlog, latency::new_histogram};
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    #[test]
    fn the_reference_reader_reads_a_written_log() {
        let mut log = Hlog::new(SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000));
        let second = Duration::from_secs(1);
        let mut written = Vec::new();
        for number in 0..3u32 {
            let mut histogram = new_histogram();
            histogram.record_n(1_000_000 * u64::from(number + 1), 10).unwrap();
            log.add("response", &histogram, second * number, second);
            log.add("error", &new_histogram(), second * number, second);
            written.push(histogram);
        }
        let bytes = log.bytes;
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
        assert!(text.contains("#[StartTime: 1700000000.000 (seconds since epoch)]\n"), "{text}");
        assert_eq!(text.matches("MaxValueDivisor").count(), 1);
        let read = hlog::read(&bytes, "response").unwrap();
        let maxima = IntervalLogIterator::new(&bytes).filter_map(|entry| match entry.unwrap() {
            LogEntry::Interval(line) => Some(line.max()),
            _ => None,
        });
        let maxima: Vec<f64> = maxima.collect();
        assert_eq!((read.len(), maxima.len()), (3, 3), "an empty distribution has no line");
        for (number, (interval, max)) in read.iter().zip(maxima).enumerate() {
            assert_eq!((interval.start_s, interval.length_s), (number as f64, 1.0));
            assert!((max - (number + 1) as f64).abs() < 0.01, "{max} ms");
            assert_eq!(interval.values, hlog::Counts::of(&written[number]));
        }
    }
}
