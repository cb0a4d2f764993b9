//! The order of the trials: repeat by repeat, so that a machine that warms up or slows down does so under every cell;
//! within a repeat shuffled by load, and the targets of one load shuffled but next to each other, so that what is
//! compared is near in time. Phases of one start follow each other in the order of the plan. Pure: the same seed gives
//! the same order.

use super::cells::Cell;
use crate::stats::random::below;
use rand_xoshiro::{
    Xoshiro256PlusPlus,
    rand_core::{Rng, SeedableRng},
};

/// One trial to be run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ScheduledTrial {
    /// Index of the cell.
    pub cell: usize,
    /// Counted from 1.
    pub repeat: u32,
}

/// Every repeat of every cell exactly once.
pub fn order(cells: &[Cell], repeats: u32, seed: u64) -> Vec<ScheduledTrial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut blocks = blocks(cells);
    let mut slots = Vec::with_capacity(cells.len() * repeats as usize);
    for repeat in 1..=repeats {
        shuffle(&mut blocks, &mut random);
        for block in &mut blocks {
            shuffle(block, &mut random);
            slots.extend(block.iter().flatten().map(|&cell| ScheduledTrial { cell, repeat }));
        }
    }
    slots
}

/// Every repeat of every cell exactly once, for comparisons: the targets of a load one after the other and back again
/// (ABBA), so that a drift of the machine, as long as it is steady, adds as much to one as to the other. Loads are
/// shuffled, and so is which target is first.
pub fn abba(cells: &[Cell], repeats: u32, seed: u64) -> Vec<ScheduledTrial> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut blocks = blocks(cells);
    let mut slots = Vec::with_capacity(cells.len() * repeats as usize);
    for there in (1..=repeats).step_by(2) {
        shuffle(&mut blocks, &mut random);
        for block in &mut blocks {
            shuffle(block, &mut random);
            slots.extend(block.iter().flatten().map(|&cell| ScheduledTrial { cell, repeat: there }));
            if there < repeats {
                slots.extend(block.iter().rev().flatten().map(|&cell| ScheduledTrial { cell, repeat: there + 1 }));
            }
        }
    }
    slots
}

/// The cells of each load, targets in the order of the plan, those of one start together.
fn blocks(cells: &[Cell]) -> Vec<Vec<Vec<usize>>> {
    let mut blocks: Vec<Vec<Vec<usize>>> = Vec::new();
    for (index, cell) in cells.iter().enumerate() {
        match blocks.iter_mut().find(|block| cells[block[0][0]].swept() == cell.swept()) {
            Some(block) => match block.iter_mut().find(|start| cells[start[0]].shares_start(cell)) {
                Some(start) => start.push(index),
                None => block.push(vec![index]),
            },
            None => blocks.push(vec![vec![index]]),
        }
    }
    blocks
}

/// Fisher and Yates: every order is equally likely.
fn shuffle<T>(items: &mut [T], random: &mut impl Rng) {
    for last in (1..items.len()).rev() {
        items.swap(last, below(last as u64 + 1, random) as usize);
    }
}
