//! The other processes of a run, as the conductor sees them: they are told what it decides, and may be lost.

use crate::processes::Order;
use std::time::Duration;

/// Processes that make a part of the load each.
pub trait Others {
    /// Tells all of them.
    fn order(&self, order: Order);
    /// How much earlier than in one process a start has to be decided, for all of them to hear of it in time.
    fn headstart(&self) -> Duration;
    /// What became of the one with this number, which is gone.
    fn obituary(&self, process: usize) -> String;
}

/// There are none: the load threads are those of this process.
pub struct Nobody;

impl Others for Nobody {
    fn order(&self, _: Order) {}

    fn headstart(&self) -> Duration {
        Duration::ZERO
    }

    fn obituary(&self, _: usize) -> String {
        unreachable!("only other processes are lost")
    }
}
