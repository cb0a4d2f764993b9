//! Timers of a worker: wheel, clock, and precision of sleeps.

pub(crate) mod clock;
pub(crate) mod slack;
pub(crate) mod wheel;
