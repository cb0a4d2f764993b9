//! Others that make parts of a load: processes of this machine, or other machines.

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// From the coordinator to the others; times in nanoseconds of the run's clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Order {
    /// Threads below this number open their connections.
    Connect { threads: usize },
    /// Sets the start of the load, and the start and end of its window.
    Begin { start: u64, open: u64, close: u64 },
    /// Sets the window in the warm-up, where it was left open.
    Open { open: u64, close: u64 },
    /// Ends the window early.
    Close(u64),
    /// Threads may end after their drain.
    Release,
}

/// All of them together. Their threads are numbered through with those of this process, and report as those do.
pub trait Others {
    /// Tells each of them. One that cannot be reached is reported as lost by whoever listens to it.
    fn order(&self, order: Order);

    /// When the load begins, in nanoseconds of the run's clock, if they have agreed on that already.
    fn agreed_start(&self) -> Option<u64> {
        None
    }

    /// Ends the window of each of them early, at the time given or as near to it as they can, which is returned.
    fn close(&self, at: u64) -> u64 {
        self.order(Order::Close(at));
        at
    }

    /// Time that an order takes to reach all of them, at most.
    fn notice(&self) -> Duration;

    /// Why the one of this number is gone.
    fn exit_reason(&self, number: usize) -> String;
}
