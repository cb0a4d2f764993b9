//! Others that make parts of a load: processes of this machine, or other machines.

use super::coordinator::Order;
use std::time::Duration;

/// All of them together. Their threads are numbered through with those of this process, and report as those do.
pub trait Others {
    /// Tells each of them. One that cannot be reached is reported as lost by whoever listens to it.
    fn order(&self, order: Order);

    /// Time that an order takes to reach all of them, at most.
    fn notice(&self) -> Duration;

    /// When the load begins, in nanoseconds of the run's clock, as all of them have agreed: not before `earliest`. Blocks until it is known.
    fn start(&self, earliest: u64) -> u64 {
        earliest
    }

    /// Why the one of this number is gone.
    fn exit_reason(&self, number: usize) -> String;
}
