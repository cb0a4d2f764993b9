//! One program as several processes: what one cannot do because its open files are limited, many can.
//!
//! A parent ([`Workers`]) starts its own program again, as often as needed, and talks with each of these processes, its
//! *mates*, over a socket that is the mate's standard input ([`Parent`]). Messages are what both sides agree on; a
//! message may bring an open file along. No mate outlives its parent, whatever ends that one: a parent's end closes
//! the socket, and the kernel does that for the dead too. Nothing here knows what the processes are for.
#![forbid(unsafe_code)]

pub mod fd_limit;
mod frame;
mod parent;
mod partition;
mod worker;

pub use parent::{WorkerEvent, Workers};
pub use partition::{Part, partition};
pub use worker::Parent;
