//! The program of a coordinator, with what it has collected.

use crate::clock::Clock;
use brunt_fleet::coordinator::{Coordinator, Outcome};
use brunt_fleet::merge::{Distribution, Sum};
use brunt_fleet::words::Assembler;

/// What the assembler of a simulated coordinator may hold.
const HELD: usize = 64 << 10;

pub struct Center {
    /// `None` once it has crashed.
    pub core: Option<Coordinator>,
    pub clock: Clock,
    pub run: String,
    pub epoch: u64,
    pub assembler: Assembler,
    pub sum: Sum<Cells>,
    pub outcome: Option<Outcome>,
    /// True time of its end.
    pub ended: Option<i64>,
    pub steps: u64,
    pub crash_after: Option<u64>,
    pub due: u64,
    /// Whether the world has started it, and not the plan.
    pub is_rival: bool,
}

impl Center {
    pub fn new(core: Coordinator, clock: Clock, run: &str, epoch: u64, crash_after: Option<u64>) -> Self {
        Self {
            core: Some(core),
            clock,
            run: run.to_owned(),
            epoch,
            assembler: Assembler::new(run, epoch, HELD),
            sum: Sum::default(),
            outcome: None,
            ended: None,
            steps: 0,
            crash_after,
            due: 0,
            is_rival: false,
        }
    }
}

/// A distribution of four cells, a byte each on the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cells([u64; 4]);

impl Distribution for Cells {
    fn decode(bytes: &[u8]) -> Result<Self, String> {
        let cells: [u8; 4] = bytes.try_into().map_err(|_| format!("{} bytes instead of 4", bytes.len()))?;
        Ok(Self(cells.map(u64::from)))
    }

    fn add(&mut self, other: &Self) {
        self.0.iter_mut().zip(other.0).for_each(|(cell, more)| *cell += more);
    }
}
