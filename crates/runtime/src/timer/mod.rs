//! Timers of a worker: the wheel they stand in, the clock they follow, and the precision of a sleep.

pub(crate) mod clock;
pub(crate) mod slack;
pub(crate) mod wheel;
