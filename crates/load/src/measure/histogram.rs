//! Histogram that load threads record into: the cells of HdrHistogram at three digits, and nothing else.
//!
//! `hdrhistogram` updates totals, extremes and error paths for every value, five times the work of finding the cell. Here a
//! value costs one shift and one increment; the collector merges the cells, which are the same, into full histograms once a
//! second. A value above the range counts as the highest and in [`RawHistogram::saturated`]: it must never vanish.

use brunt_results::latency::MAX_LATENCY_NS;
use hdrhistogram::Histogram;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// log2 of the value below which every nanosecond has a cell of its own: three digits need 2000 of them.
const LINEAR_BITS: u32 = 11;
/// Cells of each further doubling.
const HALF: usize = 1 << (LINEAR_BITS - 1);
const CELLS: usize = cell_of(MAX_LATENCY_NS) + 1;
/// Cells that are looked at together.
const GROUP: usize = 64;
static EMPTY: [u32; GROUP] = [0; GROUP];

/// Counts of values in nanoseconds.
#[derive(Debug, Clone)]
pub struct RawHistogram {
    cells: Box<[u32]>,
    pub saturated: u64,
}

impl Default for RawHistogram {
    fn default() -> Self {
        Self { cells: vec![0; CELLS].into_boxed_slice(), saturated: 0 }
    }
}

#[inline]
const fn cell_of(ns: u64) -> usize {
    let doubling = (u64::BITS - LINEAR_BITS) - (ns | ((1 << LINEAR_BITS) - 1)).leading_zeros();
    // The upper half of the linear cells counts as the first doubling, so each doubling adds HALF.
    doubling as usize * HALF + (ns >> doubling) as usize
}

const fn value_of(cell: usize) -> u64 {
    if cell < 2 * HALF {
        return cell as u64;
    }
    let doubling = cell / HALF - 1;
    ((cell - doubling * HALF) as u64) << doubling
}

impl RawHistogram {
    #[inline]
    pub fn record(&mut self, ns: u64) {
        if ns > MAX_LATENCY_NS {
            self.saturated += 1;
        }
        self.cells[cell_of(ns.min(MAX_LATENCY_NS))] += 1;
    }

    pub fn clear(&mut self) {
        self.cells.fill(0);
        self.saturated = 0;
    }

    pub fn record_n(&mut self, ns: u64, count: u32) {
        self.cells[cell_of(ns.min(MAX_LATENCY_NS))] += count;
    }

    /// Takes all values, as cells that are not empty.
    pub fn take(&mut self) -> Cells {
        let cells = self.cells.iter_mut().enumerate().filter(|(_, count)| **count > 0);
        Cells(cells.map(|(cell, count)| (cell as u16, std::mem::take(count))).collect())
    }

    pub fn add(&mut self, Cells(cells): &Cells) {
        // What comes from another machine may be any number.
        for (cell, count) in cells {
            if let Some(all) = self.cells.get_mut(usize::from(*cell)) {
                *all = all.saturating_add(*count);
            }
        }
    }

    /// Takes back what was added before.
    pub fn remove(&mut self, Cells(cells): &Cells) {
        for (cell, count) in cells {
            if let Some(all) = self.cells.get_mut(usize::from(*cell)) {
                *all = all.saturating_sub(*count);
            }
        }
    }

    /// Whether each of its values is one of the other's.
    pub fn is_part_of(&self, other: &Self) -> bool {
        self.cells.iter().zip(&other.cells).all(|(part, all)| part <= all)
    }

    /// The value that a share of `quantile` of the values do not exceed; `None` without values.
    pub fn quantile(&self, quantile: f64) -> Option<u64> {
        let all: u64 = self.cells.iter().map(|count| u64::from(*count)).sum();
        let rank = ((all as f64 * quantile).ceil() as u64).max(1);
        let mut below = 0;
        let found = self.cells.iter().position(|count| {
            below += u64::from(*count);
            below >= rank
        });
        found.map(|cell| value_of(cell + 1) - 1)
    }

    /// Moves all values into `histogram`.
    pub fn merge_into(&mut self, histogram: &mut Histogram<u64>) {
        for (nth, group) in self.cells.chunks_mut(GROUP).enumerate() {
            // Most are empty.
            if *group == EMPTY[..group.len()] {
                continue;
            }
            for (cell, count) in group.iter_mut().enumerate().filter(|(_, count)| **count > 0) {
                histogram.saturating_record_n(value_of(nth * GROUP + cell), u64::from(std::mem::take(count)));
            }
        }
        self.saturated = 0;
    }
}

/// Values of a histogram as the numbers of its cells with their counts.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cells(Vec<(u16, u32)>);

const _: () = assert!(CELLS <= 1 << u16::BITS);

/// The cells that are not zero, for transfer between processes.
#[derive(Serialize, Deserialize)]
struct Sparse {
    saturated: u64,
    cells: Vec<(usize, u32)>,
}

impl Serialize for RawHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let cells = self.cells.iter().copied().enumerate().filter(|(_, count)| *count > 0).collect();
        Sparse { saturated: self.saturated, cells }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawHistogram {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let sparse = Sparse::deserialize(deserializer)?;
        let mut counts = Self { saturated: sparse.saturated, ..Self::default() };
        for (cell, count) in sparse.cells {
            *counts.cells.get_mut(cell).ok_or_else(|| D::Error::custom("a value above the range"))? = count;
        }
        Ok(counts)
    }
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use brunt_results::latency::new_histogram;
    use proptest::prelude::*;

    /// Recorded values in whole milliseconds, sorted.
    pub fn millis<'a>(histograms: impl IntoIterator<Item = &'a mut RawHistogram>) -> Vec<u64> {
        let mut merged = new_histogram();
        histograms.into_iter().for_each(|histogram| histogram.merge_into(&mut merged));
        let ms = |ns: u64| (merged.median_equivalent(ns) as f64 / 1e6).round() as u64;
        let values = merged.iter_recorded();
        values.flat_map(|v| std::iter::repeat_n(ms(v.value_iterated_to()), v.count_at_value() as usize)).collect()
    }

    #[test]
    fn cells_are_contiguous() {
        for cell in 1..CELLS {
            assert_eq!(cell_of(value_of(cell)), cell);
            assert_eq!(cell_of(value_of(cell) - 1), cell - 1);
        }
    }

    #[test]
    fn a_value_above_the_range_counts_as_the_highest_and_is_reported() {
        let mut counts = RawHistogram::default();
        [MAX_LATENCY_NS, MAX_LATENCY_NS + 1, u64::MAX].into_iter().for_each(|value| counts.record(value));
        assert_eq!(counts.saturated, 2);
        let mut histogram = new_histogram();
        counts.merge_into(&mut histogram);
        assert_eq!((histogram.len(), counts.saturated), (3, 0));
        assert!(histogram.equivalent(histogram.max(), MAX_LATENCY_NS));
    }

    #[test]
    fn serialized_counts_are_read_back() {
        let mut counts = RawHistogram::default();
        [0, 1, 1, 2047, 2048, 5_000_000, u64::MAX].into_iter().for_each(|value| counts.record(value));
        let text = serde_json::to_string(&counts).unwrap();
        let read: RawHistogram = serde_json::from_str(&text).unwrap();
        assert_eq!((&read.cells, read.saturated), (&counts.cells, 1));
        assert!(serde_json::from_str::<RawHistogram>(r#"{"saturated":0,"cells":[[99999999,1]]}"#).is_err());
    }

    proptest! {
        #[test]
        fn merged_values_equal_directly_recorded_ones(
            values in proptest::collection::vec((0u32..42, any::<u64>()).prop_map(|(bits, x)| x % (1u64 << bits).max(1)), 1..300),
        ) {
            let (mut direct, mut merged, mut counts) = (new_histogram(), new_histogram(), RawHistogram::default());
            for &value in &values {
                direct.record(value).unwrap();
                counts.record(value);
            }
            counts.merge_into(&mut merged);
            prop_assert_eq!(counts.cells.iter().sum::<u32>(), 0);
            prop_assert_eq!(&merged, &direct);
            prop_assert_eq!((merged.min(), merged.max()), (direct.min(), direct.max()));
            prop_assert_eq!(merged.mean(), direct.mean());
        }
    }
}
