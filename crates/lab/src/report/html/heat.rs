//! Heat map of response times over time: moments from left to right, response times upwards on a logarithmic scale, the share
//! of a moment's requests as shade.
//!
//! Bounded whatever the length of the load: at most [`COLUMNS`] moments, which double in length when there are more, and
//! [`ROWS`] ranges of times, which double in height.

use crate::format::significant;
use brunt_results::hlog::Interval;
use serde::Serialize;
use std::collections::BTreeMap;

const COLUMNS: usize = 120;
const ROWS: i32 = 48;
/// Ranges of times in a decade, before they are merged.
const PER_DECADE: f64 = 16.0;
/// Fewer moments are no map.
const LEAST_COLUMNS: usize = 4;

/// Shades, darkest last; each is a factor of `10^(1 / PER_SHADE)` of the share. The lightest is a share of 10^-5 or less.
const SHADES: &[u8; 36] = b"0123456789abcdefghijklmnopqrstuvwxyz";
const PER_SHADE: f64 = 7.0;
const NOTHING: char = '.';

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeatMap {
    /// Begin and length of the moments, in seconds since the load began.
    from: f64,
    width: f64,
    /// Lower end of the lowest range, in microseconds, and the ratio of its ends.
    low: f64,
    factor: f64,
    /// For each moment the shades of its ranges, lowest first; empty without a request.
    columns: Vec<String>,
}

/// Requests by moment and range of response times.
#[derive(Debug, Default)]
pub struct Heat {
    from: f64,
    width: f64,
    /// Counts by range: range `r` has times from `10^(r / PER_DECADE)` nanoseconds on.
    columns: Vec<BTreeMap<i32, u64>>,
}

impl Heat {
    /// Adds an interval; they come in their order.
    pub fn add(&mut self, interval: &Interval) {
        if self.width == 0.0 {
            if interval.length_s <= 0.0 {
                return;
            }
            (self.from, self.width) = (interval.start_s, interval.length_s);
        }
        let middle = interval.start_s + interval.length_s / 2.0;
        let mut place = self.place(middle);
        while place >= COLUMNS {
            self.halve();
            place = self.place(middle);
        }
        // What came after the window belongs to its end.
        let place = if interval.length_s > 0.0 { place } else { place.min(self.columns.len().saturating_sub(1)) };
        if place >= self.columns.len() {
            self.columns.resize_with(place + 1, BTreeMap::new);
        }
        for (value, count) in interval.values.iter() {
            let range = ((value.max(1) as f64).log10() * PER_DECADE).floor() as i32;
            *self.columns[place].entry(range).or_default() += count;
        }
    }

    fn place(&self, at_s: f64) -> usize {
        ((at_s - self.from) / self.width).max(0.0) as usize
    }

    /// Merges neighbouring moments.
    fn halve(&mut self) {
        self.width *= 2.0;
        let merged = self.columns.chunks(2).map(|pair| {
            let mut sum = pair[0].clone();
            for (range, count) in pair.iter().skip(1).flatten() {
                *sum.entry(*range).or_default() += count;
            }
            sum
        });
        self.columns = merged.collect();
    }

    /// `None` if there are too few moments.
    pub fn map(&self) -> Option<HeatMap> {
        if self.columns.iter().filter(|column| !column.is_empty()).count() < LEAST_COLUMNS {
            return None;
        }
        let ranges = || self.columns.iter().flat_map(|column| column.keys().copied());
        let (lowest, highest) = (ranges().min()?, ranges().max()?);
        let merged = (0..).map(|power| 1 << power).find(|merged| (highest - lowest) / merged < ROWS)?;
        let rows = (highest - lowest) / merged + 1;
        let column = |counts: &BTreeMap<i32, u64>| {
            let mut cells = vec![0u64; rows as usize];
            for (range, count) in counts {
                cells[((range - lowest) / merged) as usize] += count;
            }
            let all: u64 = cells.iter().sum();
            let shades: String = cells.iter().map(|count| shade(*count, all)).collect();
            shades.trim_end_matches(NOTHING).to_owned()
        };
        Some(HeatMap {
            from: significant(self.from, 6),
            width: significant(self.width, 6),
            low: significant(10f64.powf(f64::from(lowest) / PER_DECADE) / 1e3, 5),
            factor: significant(10f64.powf(f64::from(merged) / PER_DECADE), 6),
            columns: self.columns.iter().map(column).collect(),
        })
    }
}

fn shade(count: u64, all: u64) -> char {
    if count == 0 {
        return NOTHING;
    }
    let steps = (count as f64 / all as f64).log10() * PER_SHADE;
    let last = SHADES.len() as f64 - 1.0;
    char::from(SHADES[(last + steps).round().clamp(0.0, last) as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use brunt_results::{hlog::Counts, latency::new_histogram};

    fn interval(start_s: f64, length_s: f64, us: &[u64]) -> Interval {
        let mut values = new_histogram();
        us.iter().for_each(|us| values.record(us * 1000).unwrap());
        Interval { start_s, length_s, values: Counts::of(&values) }
    }

    #[test]
    fn shares_become_shades_and_an_empty_moment_is_empty() {
        let mut heat = Heat::default();
        for second in [0u32, 1, 3, 4] {
            heat.add(&interval(f64::from(second) + 0.5, 1.0, &[100, 100, 100, 10_000]));
        }
        // Replies after the window are in its last moment.
        heat.add(&interval(5.5, 0.0, &[1_000_000]));
        let map = heat.map().unwrap();
        assert_eq!((map.from, map.width, map.columns.len()), (0.5, 1.0, 5));
        let first = &map.columns[0];
        assert_eq!((first.chars().next(), first.chars().last()), (Some('y'), Some('v')), "{first}");
        assert_eq!(first.chars().filter(|c| *c != NOTHING).count(), 2);
        assert_eq!(map.columns[2], "");
        assert!(map.columns[4].len() > map.columns[3].len());
        assert!(map.low <= 100.0 && map.low * map.factor > 100.0, "{map:?}");
    }

    #[test]
    fn a_map_is_bounded_and_keeps_every_request() {
        let mut heat = Heat::default();
        for second in 0..86_400u32 {
            // Ten decades of times.
            let us = 10u64.pow(second % 10);
            heat.add(&interval(f64::from(second), 1.0, &[us.min(3_000_000_000)]));
        }
        assert_eq!(heat.columns.iter().flat_map(BTreeMap::values).sum::<u64>(), 86_400);
        let map = heat.map().unwrap();
        assert!(map.columns.len() <= COLUMNS && map.columns.iter().all(|column| column.len() <= ROWS as usize));
        assert_eq!(map.width, 1024.0);
        assert!(serde_json::to_string(&map).unwrap().len() < 7000);
    }

    #[test]
    fn few_moments_are_no_map() {
        let mut heat = Heat::default();
        (0..3u32).for_each(|second| heat.add(&interval(f64::from(second), 1.0, &[5])));
        assert!(heat.map().is_none() && Heat::default().map().is_none());
    }
}
