//! Recording on each load thread, collection once a second, the interval log, counts in shorter intervals, and how
//! evenly the connections were served.

pub(crate) mod breakdown;
pub(crate) mod collector;
pub(crate) mod counter;
pub(crate) mod counts;
mod failure;
pub(crate) mod handshakes;
pub(crate) mod histogram;
pub(crate) mod interval;
pub(crate) mod links;
pub(crate) mod outages;
pub(crate) mod possible;
pub(crate) mod recorder;
pub(crate) mod served;
