//! The response times of slices as values and counts, which take a hundredth of a histogram's memory.

use crate::slices::record::Slice;

/// Values in nanoseconds, ascending, with their counts.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Latencies {
    pub values: Vec<(u64, u64)>,
    pub count: u64,
}

impl Latencies {
    /// `None` for a slice without replies or with a histogram that cannot be read.
    pub fn of(slice: &Slice) -> Option<Self> {
        let histogram = slice.response().ok()?;
        let values: Vec<(u64, u64)> =
            histogram.iter_recorded().map(|step| (step.value_iterated_to(), step.count_at_value())).collect();
        (!values.is_empty()).then_some(Self { values, count: histogram.len() })
    }

    /// All of them together.
    pub fn merged<'a>(all: impl IntoIterator<Item = &'a Self>) -> Self {
        let mut values: Vec<(u64, u64)> = all.into_iter().flat_map(|one| &one.values).copied().collect();
        values.sort_unstable();
        values.dedup_by(|next, kept| {
            let same = next.0 == kept.0;
            kept.1 += if same { next.1 } else { 0 };
            same
        });
        let count = values.iter().map(|(_, count)| count).sum();
        Self { values, count }
    }

    /// The value that a share `q` of the values does not exceed; 0 if there are none.
    pub fn quantile(&self, q: f64) -> u64 {
        let rank = ((q * self.count as f64).ceil() as u64).max(1);
        let mut reached = 0;
        let found = self.values.iter().find(|(_, count)| {
            reached += count;
            reached >= rank
        });
        found.or(self.values.last()).map_or(0, |(value, _)| *value)
    }

    pub fn mean(&self) -> f64 {
        self.values.iter().map(|(value, count)| *value as f64 * *count as f64).sum::<f64>() / self.count as f64
    }
}
