//! The order of the trials. Pure: the same seed gives the same order.
//!
//! - Repeat by repeat, so that a machine that warms up or slows down does so under every cell.
//! - Within a repeat shuffled by load; the targets of one load are shuffled but adjacent, so that what is compared is close
//!   in time.
//! - The policies of one load and co-runner are adjacent in the same way.
//! - Phases of one start follow each other in the order of the plan.

use super::cells::{Cell, pairs};
use crate::group::grouped;
use brunt_statistics::below;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScheduledTrial {
    pub cell: usize,
    /// Counted from 1.
    pub repeat: u32,
}

/// Every repeat of every cell exactly once, shuffled.
pub fn order(cells: &[Cell], repeats: u32, seed: u64) -> Vec<ScheduledTrial> {
    shuffled(cells, repeats, seed, false)
}

/// Every repeat of every cell exactly once, in ABBA order for comparisons: the targets of a load forwards, then backwards,
/// so that a steady drift of the machine affects all of them equally. Loads and first targets are shuffled.
pub fn abba(cells: &[Cell], repeats: u32, seed: u64) -> Vec<ScheduledTrial> {
    shuffled(cells, repeats, seed, true)
}

pub(crate) fn shuffled(cells: &[Cell], repeats: u32, seed: u64, mirrored: bool) -> Vec<ScheduledTrial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut blocks = blocks(cells);
    let mut trials = Vec::with_capacity(cells.len() * repeats as usize);
    for repeat in (1..=repeats).step_by(if mirrored { 2 } else { 1 }) {
        shuffle(&mut blocks, &mut random);
        for block in &mut blocks {
            shuffle(block, &mut random);
            trials.extend(block.iter().flatten().map(|&cell| ScheduledTrial { cell, repeat }));
            if mirrored && repeat < repeats {
                trials.extend(block.iter().rev().flatten().map(|&cell| ScheduledTrial { cell, repeat: repeat + 1 }));
            }
        }
    }
    trials
}

/// Cells grouped by load, then by start of a target; in the order of the plan.
fn blocks(cells: &[Cell]) -> Vec<Vec<Vec<usize>>> {
    let groups = |groups: Vec<(_, Vec<usize>)>| groups.into_iter().map(|(_, group)| group).collect::<Vec<_>>();
    // Cells without a phase have a start of their own.
    let start = |index: usize| {
        let cell: &Cell = &cells[index];
        (cell.target.as_str(), cell.axes(), cell.phase().is_none().then_some(index))
    };
    // Policies are compared with each other under one load, as targets are.
    let load = |cell: &Cell| {
        pairs(cell.axes()).filter(|(name, _)| *name != "policy").map(|(n, v)| format!("{n}={v}")).collect::<Vec<_>>()
    };
    let loads = grouped(cells.iter().enumerate().map(|(index, cell)| (load(cell), index)));
    let starts = |load: Vec<usize>| groups(grouped(load.into_iter().map(|index| (start(index), index))));
    loads.into_iter().map(|(_, load)| starts(load)).collect()
}

/// Fisher-Yates shuffle: every order is equally likely.
pub(crate) fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}
