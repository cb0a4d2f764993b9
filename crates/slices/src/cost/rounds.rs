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
            let of_points: Vec<&CostSlice> = round.iter().filter(|slice| !slice.second).collect();
            match of_points.iter().any(|slice| slice.slice.is_void()) {
                true => void += 1,
                false => counted.push((round[0].slice.start, of_points)),
            }
        }
        Self { counted, void }
    }

    pub(super) fn count(&self) -> usize {
        self.counted.len()
    }

    /// Of a point, in each counted round.
    pub(super) fn of_point(&self, target: &str, rate: f64) -> Vec<PointRound<'a>> {
        let is_it = |slice: &&CostSlice| slice.rate == rate && slice.slice.target == target;
        let of = |(start, round): &(u32, Vec<&'a CostSlice>)| PointRound {
            start: *start,
            slices: round.iter().copied().filter(is_it).collect(),
        };
        self.counted.iter().map(of).collect()
    }

    /// All counted slices.
    pub(super) fn slices(&self) -> impl Iterator<Item = &'a CostSlice> {
        self.counted.iter().flat_map(|(_, round)| round.iter().copied())
    }
}

/// The slices of a point in a round: one, or several of a point whose interval is wide; none where the round was cut off before.
pub(super) struct PointRound<'a> {
    pub start: u32,
    pub slices: Vec<&'a CostSlice>,
}

impl PointRound<'_> {
    /// The mean over its slices; `None` without one, or where one has no value.
    pub fn mean(&self, of: impl Fn(&CostSlice) -> Option<f64>) -> Option<f64> {
        let values = self.slices.iter().map(|slice| of(slice)).collect::<Option<Vec<f64>>>()?;
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    }
}
