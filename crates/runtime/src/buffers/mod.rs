//! Memory that the kernel fills and reads.

pub(crate) mod recv;
pub(crate) mod send;
