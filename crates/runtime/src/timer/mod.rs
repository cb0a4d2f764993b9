//! Timers of a worker: wheel and clock.

pub(crate) mod clock;
pub(crate) mod wheel;
