//! The other processes of a run, as the coordinator sees them: they are told what it decides, and may be lost.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// From the coordinator to the other processes; times in nanoseconds of the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// The load starts, its window opens and closes at these times.
    Begin { start: u64, open: u64, close: u64 },
    /// The window closes earlier.
    Close(u64),
    /// Connections are no longer needed.
    Release,
}

/// Processes that make a part of the load each.
pub trait Peers {
    /// Tells all of them.
    fn order(&self, order: Order);
    /// How much earlier than in one process a start has to be decided, for all of them to hear of it in time.
    fn start_delay(&self) -> Duration;
    /// What became of the one with this number, which is gone.
    fn exit_reason(&self, process: usize) -> String;
}

/// There are none: the load threads are those of this process.
pub struct NoPeers;

impl Peers for NoPeers {
    fn order(&self, _: Order) {}

    fn start_delay(&self) -> Duration {
        Duration::ZERO
    }

    fn exit_reason(&self, _: usize) -> String {
        unreachable!("only other processes are lost")
    }
}
