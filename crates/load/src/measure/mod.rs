//! Recording on each load thread, collection once a second, and the interval log.

pub(crate) mod collector;
pub(crate) mod handshakes;
pub(crate) mod histogram;
pub(crate) mod interval;
pub(crate) mod recorder;
