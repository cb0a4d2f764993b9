//! Slices by round. A round counts as a whole or not at all, by one rule that looks at the machine and is the same for all
//! targets, so that leaving it out favours none.

use crate::record::Slice;
use brunt_statistics::median;

/// Share of the rounds that may be left out.
pub const MOST_VOID: f64 = 0.3;

/// The rounds of one load.
pub struct Rounds<'a> {
    pub slices: &'a [Slice],
    /// Targets, in the order of the plan.
    pub names: Vec<&'a str>,
    pub counted: Vec<Round>,
    /// Rounds that do not count.
    pub void: usize,
    pub starts: usize,
}

/// A counted round.
pub struct Round {
    pub start: u32,
    /// By target: indices of its slices, usually one; none where the round was cut off.
    pub of: Vec<Vec<usize>>,
}

impl<'a> Rounds<'a> {
    /// Slices of other targets than `names` are ignored.
    pub fn of(slices: &'a [Slice], names: &[&'a str]) -> Self {
        let (mut counted, mut void, mut starts, mut from) = (Vec::new(), 0, Vec::new(), 0);
        for round in slices.chunk_by(|a, b| (a.start, a.round) == (b.start, b.round)) {
            let indices = from..from + round.len();
            from += round.len();
            if !starts.contains(&round[0].start) {
                starts.push(round[0].start);
            }
            if round.iter().any(Slice::is_void) {
                void += 1;
                continue;
            }
            let of_target = |name: &&str| indices.clone().filter(|index| slices[*index].target == **name).collect();
            counted.push(Round { start: round[0].start, of: names.iter().map(of_target).collect() });
        }
        Self { slices, names: names.to_vec(), counted, void, starts: starts.len() }
    }

    pub fn all(&self) -> usize {
        self.counted.len() + self.void
    }

    pub fn too_many_void(&self) -> bool {
        self.void as f64 > MOST_VOID * self.all() as f64
    }

    /// The counted slices of a target.
    pub fn slices_of(&self, target: usize) -> impl Iterator<Item = &'a Slice> {
        self.counted.iter().flat_map(move |round| &round.of[target]).map(|index| &self.slices[*index])
    }

    /// Median over the target's slices of the CPU of the generator's busiest thread, in percent of a core.
    pub fn generator_percent(&self, target: usize) -> f64 {
        median(self.slices_of(target).map(|slice| Some(slice.generator_percent))).unwrap_or(0.0)
    }

    /// Median over the target's slices of its CPU, in percent of a core.
    pub fn server_percent(&self, target: usize) -> Option<f64> {
        median(self.slices_of(target).map(|slice| Some(slice.server_cpu_us? / slice.busy_us.max(1) as f64 * 100.0)))
    }

    /// The target whose slice was made just before, in the same start.
    pub fn before(&self, slice: usize) -> Option<usize> {
        let before = &self.slices[slice.checked_sub(1)?];
        let follows = before.start == self.slices[slice].start;
        self.names.iter().position(|name| follows && *name == before.target)
    }
}
