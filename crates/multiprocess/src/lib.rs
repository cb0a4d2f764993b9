//! One program as several processes: what one cannot do because its open files are limited, many can.
//!
//! A parent ([`Crew`]) starts its own program again, as often as needed, and talks with each of these processes, its
//! *mates*, over a socket that is the mate's standard input ([`Parent`]). Messages are what both sides agree on; a
//! message may bring an open file along. No mate outlives its parent, whatever ends that one: a parent's end closes
//! the socket, and the kernel does that for the dead too. Nothing here knows what the processes are for.
#![forbid(unsafe_code)]

mod deal;
pub mod files;
mod frame;
mod mate;
mod parent;

pub use deal::{Part, deal};
pub use mate::Parent;
pub use parent::{Crew, Heard};
