//! Recording on each load thread, collection once a second, the interval log, and counts in shorter intervals.

pub(crate) mod collector;
pub(crate) mod counter;
pub(crate) mod counts;
pub(crate) mod handshakes;
pub(crate) mod histogram;
pub(crate) mod interval;
pub(crate) mod recorder;
