//! The program of a coordinator, with what it has collected.

use crate::clock::Clock;
use brunt_fleet::coordinator::{Coordinator, Outcome};
use brunt_fleet::words::{Assembler, Table};
use std::collections::BTreeMap;

/// What the assembler of a simulated coordinator may hold.
const HELD: usize = 64 << 10;

/// By agent, incarnation and number.
pub type Counted = BTreeMap<(String, u64, u64), Table>;

pub struct Center {
    /// `None` once it has crashed.
    pub core: Option<Coordinator>,
    pub clock: Clock,
    pub run: String,
    pub epoch: u64,
    pub assembler: Assembler,
    /// The seconds that count, each once.
    pub counted: Counted,
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
            counted: Counted::new(),
            outcome: None,
            ended: None,
            steps: 0,
            crash_after,
            due: 0,
            is_rival: false,
        }
    }
}
