//! `latency.hlog`: an HdrHistogram V2 interval log, one line for each second of the window and each distribution.
//!
//! The lines of a tag add up to that distribution of the result, exactly: the warm-up is not in here, and what was
//! answered or given up after the window closed is the last line. Times are seconds since the load began, values are
//! nanoseconds; only the column of maxima, which is for human eyes, is in milliseconds as other tools write it.

use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};
use std::time::{Duration, SystemTime};

/// Divides nanoseconds into the milliseconds of the column of maxima.
const MAX_DIVISOR: f64 = 1e6;

/// An interval log that grows.
pub struct Hlog {
    bytes: Vec<u8>,
    serializer: V2DeflateSerializer,
}

impl Hlog {
    /// An empty log of a load that began at `start`.
    pub fn new(start: SystemTime) -> Self {
        let mut bytes = Vec::new();
        let mut serializer = V2DeflateSerializer::new();
        // The version comment is what other readers look for; the names of the columns are read as a comment by them all.
        IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .add_comment("[Values in nanoseconds; tags: response, service, lag, error]")
            .with_start_time(start)
            .with_base_time(start)
            .with_max_value_divisor(MAX_DIVISOR)
            .begin_log_with(&mut bytes, &mut serializer)
            .expect("a Vec takes every write");
        Self { bytes, serializer }
    }

    /// Adds one distribution of one interval; an empty one is left out.
    pub fn add(&mut self, tag: &'static str, histogram: &Histogram<u64>, start: Duration, length: Duration) {
        if histogram.is_empty() {
            return;
        }
        // A writer borrows its bytes for its life, so each line has its own, and the header it repeats is cut off.
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

    /// The log as it is written to a file.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use brunt_results::latency::new_histogram;
    use hdrhistogram::serialization::{
        Deserializer,
        interval_log::{IntervalLogIterator, LogEntry},
    };

    /// A line as another program reads it: tag, start and length in seconds, the column of maxima, the values.
    pub type Line = (String, f64, f64, f64, Histogram<u64>);

    /// Reads a log with the reference reader.
    pub fn read(bytes: &[u8]) -> Vec<Line> {
        let interval = |entry| match entry {
            LogEntry::Interval(line) => Some(line),
            _ => None,
        };
        IntervalLogIterator::new(bytes)
            .filter_map(|entry| interval(entry.unwrap()))
            .map(|line| {
                let encoded = base64(line.encoded_histogram());
                let (start, length) = (line.start_timestamp().as_secs_f64(), line.duration().as_secs_f64());
                let values = Deserializer::new().deserialize(&mut &encoded[..]).unwrap();
                (line.tag().unwrap().as_str().to_owned(), start, length, line.max(), values)
            })
            .collect()
    }

    fn base64(text: &str) -> Vec<u8> {
        let digit = |c: u8| match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' => 62,
            _ => 63,
        };
        let digits: Vec<u8> = text.trim_end_matches('=').bytes().map(digit).collect();
        let byte = |group: &[u8], i: usize| Some(group.get(i)? << (2 + 2 * i) | group.get(i + 1)? >> (4 - 2 * i));
        let bytes = |group: &[u8]| (0..3).filter_map(|i| byte(group, i)).collect::<Vec<_>>();
        digits.chunks(4).flat_map(bytes).collect()
    }

    #[test]
    fn what_is_written_is_read_back_by_the_reference_reader() {
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
        let bytes = log.into_bytes();
        let text = std::str::from_utf8(&bytes).unwrap();
        assert!(text.starts_with("#[Histogram log format version 1.3]\n"), "{text}");
        assert!(text.contains("#[StartTime: 1700000000.000 (seconds since epoch)]\n"), "{text}");
        assert_eq!(text.matches("MaxValueDivisor").count(), 1);
        let read = read(&bytes);
        assert_eq!(read.len(), 3, "an empty distribution has no line");
        for (number, (tag, start, length, max, values)) in read.iter().enumerate() {
            assert_eq!((tag.as_str(), *start, *length), ("response", number as f64, 1.0));
            assert!((max - (number + 1) as f64).abs() < 0.01, "{max} ms");
            assert_eq!(*values, written[number]);
        }
    }
}
