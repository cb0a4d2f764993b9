//! A histogram as the values that occur, each with its count. An interval of a log has few of them, and a histogram with room for all
//! values has 184 KB, which a day of seconds would read 86,400 times.

use super::decode;
use base64::{Engine, prelude::BASE64_STANDARD};
use flate2::read::ZlibDecoder;
use hdrhistogram::Histogram;
use std::io::Read;

/// Cookies of the HdrHistogram V2 encoding, with the bit that says so of counts in LEB128: deflated, and what is deflated.
const DEFLATED: u32 = 0x1c84_9314;
const PLAIN: u32 = 0x1c84_9313;
/// Bytes of the header behind the cookie: length, offset, digits, lowest and highest value, ratio.
const HEADER: usize = 36;
/// Cells of a power of two, at three digits.
const CELLS: u64 = 1024;

/// Values in nanoseconds with their counts, ascending. A value is the highest that its cell of the histogram holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    values: Vec<(u64, u64)>,
    total: u64,
}

impl Counts {
    /// Of a text of an interval log.
    pub fn decode(text: &str) -> Result<Self, String> {
        // Of other bounds than ours, or broken: the general reader takes it, or says what is wrong.
        own(text).map_or_else(|| Ok(Self::of(&decode(text)?)), |values| Ok(Self::from(values)))
    }

    pub fn of(histogram: &Histogram<u64>) -> Self {
        let values = histogram.iter_recorded();
        let values = values.map(|value| (value.value_iterated_to(), value.count_since_last_iteration()));
        Self::from(values.collect::<Vec<_>>())
    }

    /// All of them together.
    pub fn merged<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut values: Vec<(u64, u64)> = all.into_iter().flat_map(Self::iter).collect();
        values.sort_unstable();
        values.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        Self::from(values)
    }

    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (u64, u64)> + '_ {
        self.values.iter().copied()
    }

    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }

    /// Number of values.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The value that a share `q` of the values does not exceed; 0 if there are none.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((q * self.total as f64).ceil() as u64).max(1);
        let mut reached = 0;
        let found = self.values.iter().find(|(_, count)| {
            reached += count;
            reached >= rank
        });
        found.or(self.values.last()).map_or(0, |(value, _)| *value)
    }

    pub fn mean(&self) -> f64 {
        self.iter().map(|(value, count)| value as f64 * count as f64).sum::<f64>() / self.total as f64
    }

    /// Number of values up to `limit`; those in the cell of `limit` are counted.
    pub fn up_to(&self, limit: u64) -> u64 {
        let limit = highest(cell_of(limit));
        self.iter().take_while(|(value, _)| *value <= limit).map(|(_, count)| count).sum()
    }

    /// # Errors
    /// A value is too large for the histogram.
    pub fn add_to(&self, sum: &mut Histogram<u64>) -> Result<(), String> {
        self.iter().try_for_each(|(value, count)| sum.record_n(value, count)).map_err(|error| super::not_summed(&error))
    }
}

impl From<Vec<(u64, u64)>> for Counts {
    /// Of ascending values.
    fn from(values: Vec<(u64, u64)>) -> Self {
        let total = values.iter().map(|(_, count)| count).sum();
        Self { values, total }
    }
}

/// The cells of a text of [`super::encode`]; `None` for what others have written, or broken.
fn own(text: &str) -> Option<Vec<(u64, u64)>> {
    let bytes = BASE64_STANDARD.decode(text).ok()?;
    cells(&inflated(&bytes)?)
}

fn inflated(bytes: &[u8]) -> Option<Vec<u8>> {
    let (cookie, rest) = bytes.split_first_chunk::<4>()?;
    if u32::from_be_bytes(*cookie) != DEFLATED {
        return None;
    }
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let mut plain = Vec::new();
    ZlibDecoder::new(rest.get(..u32::from_be_bytes(*length) as usize)?).read_to_end(&mut plain).ok()?;
    Some(plain)
}

/// Cells of a histogram of [`OURS`]; `None` for any other, and for what breaks off.
fn cells(plain: &[u8]) -> Option<Vec<(u64, u64)>> {
    let (cookie, rest) = plain.split_first_chunk::<4>()?;
    let (header, payload) = rest.split_first_chunk::<HEADER>()?;
    let u32_at = |at: usize| u32::from_be_bytes(header[at..at + 4].try_into().expect("four bytes"));
    let u64_at = |at: usize| u64::from_be_bytes(header[at..at + 8].try_into().expect("eight bytes"));
    let same = u32::from_be_bytes(*cookie) == PLAIN && u32_at(4) == 0 && u64_at(28) == 1f64.to_bits();
    if !same || (u32_at(8), u64_at(12), u64_at(20)) != OURS {
        return None;
    }
    let mut payload = payload.get(..u32_at(0) as usize)?;
    let (mut cell, mut counts) = (0u64, Vec::new());
    while !payload.is_empty() {
        // A count of a cell, or with a minus a number of empty cells.
        let number = zig_zag(varint(&mut payload)?);
        if number < 0 {
            cell = cell.checked_add(number.unsigned_abs())?;
            continue;
        }
        if cell > LAST_CELL {
            return None;
        }
        if number > 0 {
            counts.push((highest(cell), number.unsigned_abs()));
        }
        cell += 1;
    }
    Some(counts)
}

/// The cell of the highest value of 64 bits.
const LAST_CELL: u64 = 54 * CELLS + 2 * CELLS - 1;

/// Digits, lowest and highest value of [`crate::latency::new_histogram`].
const OURS: (u32, u64, u64) = (3, 1, crate::latency::MAX_LATENCY_NS);

/// The cell that holds a value, at three digits and a lowest value of 1.
fn cell_of(value: u64) -> u64 {
    let power = u64::from((value | (2 * CELLS - 1)).ilog2()) - 10;
    power * CELLS + (value >> power)
}

/// The highest value of a cell.
fn highest(cell: u64) -> u64 {
    let power = (cell / CELLS).saturating_sub(1);
    let lowest = (cell - power * CELLS) << power;
    lowest + ((1 << power) - 1)
}

/// LEB128 in which the ninth byte has eight bits.
fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for at in 0..9 {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        let bits = if at == 8 { *byte } else { byte & 0x7f };
        value |= u64::from(bits) << (7 * at);
        if byte & 0x80 == 0 {
            break;
        }
    }
    Some(value)
}

fn zig_zag(number: u64) -> i64 {
    ((number >> 1) as i64) ^ -((number & 1) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{hlog::encode, latency::new_histogram};
    use proptest::prelude::*;

    #[test]
    fn a_histogram_of_other_bounds_is_read_by_the_general_reader() {
        let mut histogram = Histogram::<u64>::new_with_bounds(1, 1_000_000, 2).unwrap();
        histogram.record_n(123_456, 7).unwrap();
        assert_eq!(Counts::decode(&encode(&histogram)), Ok(Counts::of(&histogram)));
    }

    #[test]
    fn what_is_no_histogram_is_an_error_that_says_why() {
        for text in ["", "AAAA", "no base64", "HISTFAAAAAR42mM="] {
            let error = Counts::decode(text).unwrap_err();
            assert!(error.starts_with("a histogram cannot be read: "), "{text}: {error}");
        }
    }

    proptest! {
        /// The same values, counts and ranks as the histogram itself.
        #[test]
        fn counts_are_those_of_the_histogram(
            values in proptest::collection::vec((0u32..42, any::<u64>(), 1u64..1 << 40), 0..60),
            limit in (0u32..42, any::<u64>()),
        ) {
            let value = |(bits, random): (u32, u64)| (random & ((2 << bits) - 1)).min(crate::latency::MAX_LATENCY_NS);
            let mut histogram = new_histogram();
            values.iter().for_each(|(bits, random, n)| histogram.record_n(value((*bits, *random)), *n).unwrap());
            let counts = Counts::from(own(&encode(&histogram)).expect("a text of ours"));
            prop_assert_eq!(&counts, &Counts::of(&histogram));
            prop_assert_eq!(counts.total(), histogram.len());
            let limit = value(limit);
            prop_assert_eq!(counts.up_to(limit), histogram.count_between(0, limit));
            for q in [0.001, 0.5, 0.99, 1.0] {
                prop_assert_eq!(counts.quantile(q), histogram.value_at_quantile(q));
            }
            let halves = [&values[..values.len() / 2], &values[values.len() / 2..]].map(|half| {
                let mut histogram = new_histogram();
                half.iter().for_each(|(bits, random, n)| histogram.record_n(value((*bits, *random)), *n).unwrap());
                Counts::of(&histogram)
            });
            prop_assert_eq!(&Counts::merged(&halves), &counts);
            let mut sum = new_histogram();
            counts.add_to(&mut sum).unwrap();
            prop_assert_eq!(sum, histogram);
        }

        /// Broken texts are errors or histograms, as the general reader says, and never more.
        #[test]
        fn broken_texts_are_taken_as_the_general_reader_takes_them(
            values in proptest::collection::vec(any::<u32>(), 1..9), at in any::<prop::sample::Index>(), byte in any::<u8>()
        ) {
            let mut histogram = new_histogram();
            values.iter().for_each(|value| histogram.record(u64::from(*value)).unwrap());
            let mut bytes = BASE64_STANDARD.decode(encode(&histogram)).unwrap();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            let text = BASE64_STANDARD.encode(bytes);
            if let Ok(general) = decode(&text) {
                prop_assert_eq!(Counts::decode(&text), Ok(Counts::of(&general)));
            }
        }
    }
}
