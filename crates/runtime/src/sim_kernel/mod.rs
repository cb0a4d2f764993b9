//! The kernel of a simulated world: sockets joined in memory, rings, one clock, one generator of random numbers, faults. It lies
//! below the driver, which has its rings beside those of Linux, and has no notion of workers: [`crate::sim`] drives those.
//!
//! Invariants:
//! - Never does what no kernel does: where Linux may choose, the seed chooses; where it may not, this does what Linux does
//!   (`sim/tests/kernels.rs` runs the same scripts on both).
//! - A run is a function of seed, settings and calls.

mod active;
pub(crate) mod calls;
pub(crate) mod clock;
pub(crate) mod completion;
mod connection;
mod datagram;
mod happen;
mod lent;
mod machine;
mod pipe;
pub(crate) mod random;
mod receive;
mod ring;
mod ring_state;
mod settings;
mod socket;
mod spares;
mod stream;
mod trace;
mod world_ring;

pub(crate) use active::{activate, active, deactivate, elapsed, now};
pub use active::{is_active, spend};
pub(crate) use machine::Machine;
pub(crate) use ring_state::Pace;
pub use settings::{Costs, Direction, Faults, Link, Settings};
pub use trace::Entry;
pub(crate) use world_ring::WorldRing;
