//! What is measured of the machine, the LC service and the BE jobs.
//!
//! Invariants:
//! - A figure that cannot be had is no reading, and [`Machine::capabilities`] says why and what follows.
//! - A slow spell of the machine is told from the doing of BE jobs: time that the machine took from all is `lost`, time that
//!   a thread of the service waited for a core while others had it is `run_delay`.

mod cache_misses;
mod cpi;
mod cpu;
mod lost;
mod machine;
mod memory_bandwidth;
mod network;
mod pressure;
mod rate;
pub mod requests;
mod run_delay;
mod service;
mod signal;

pub use cache_misses::CacheMisses;
pub use machine::{Machine, Options};
pub use memory_bandwidth::Memory;
pub use service::Service;
pub use signal::{Capability, Signal};
