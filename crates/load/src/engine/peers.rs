//! The other processes of a run, as the coordinator sees them.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// From the coordinator to the other processes; times in nanoseconds of the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Sets the start of the load, and the start and end of its window.
    Begin {
        start: u64,
        open: u64,
        close: u64,
    },
    /// Ends the window early.
    Close(u64),
    Release,
}

/// Processes that each make a part of the load.
pub trait Peers {
    fn order(&self, order: Order);
    fn start_delay(&self) -> Duration;
    fn exit_reason(&self, process: usize) -> String;
}

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
