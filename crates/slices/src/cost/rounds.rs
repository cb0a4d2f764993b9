//! Slices by round. A round in which the machine took too much of any slice does not count at all.

use super::record::CostSlice;

/// The counted rounds.
pub(super) struct Rounds<'a> {
    counted: Vec<(u32, Vec<&'a CostSlice>)>,
    /// Rounds that do not count.
    pub void: usize,
}

impl<'a> Rounds<'a> {
    pub(super) fn of(slices: &'a [CostSlice]) -> Self {
        let key = |slice: &CostSlice| (slice.slice.start, slice.slice.round);
        let (mut counted, mut void) = (Vec::new(), 0);
        for round in slices.chunk_by(|a, b| key(a) == key(b)) {
            match round.iter().any(|slice| slice.slice.is_void()) {
                true => void += 1,
                false => counted.push((round[0].slice.start, round.iter().collect())),
            }
        }
        Self { counted, void }
    }

    pub(super) fn count(&self) -> usize {
        self.counted.len()
    }

    /// Of a point: its slice in each counted round, with the start; `None` where a round was cut off before.
    pub(super) fn of_point(&self, target: &str, rate: f64) -> Vec<(u32, Option<&'a CostSlice>)> {
        let is_it = |slice: &&&CostSlice| slice.rate == rate && slice.slice.target == target;
        self.counted.iter().map(|(start, round)| (*start, round.iter().find(is_it).copied())).collect()
    }

    /// All counted slices.
    pub(super) fn slices(&self) -> impl Iterator<Item = &'a CostSlice> {
        self.counted.iter().flat_map(|(_, round)| round.iter().copied())
    }
}
