//! A simulated kernel, with the feature `sim`: programs of this runtime in virtual time, each run a function of its seed.
//!
//! A [`World`] is a machine: a clock, sockets joined in memory, and workers. Everything above the ring is the real runtime;
//! below it, requests and system calls of sockets go to the world's kernel instead of Linux. The world is that of one thread:
//! while one is active there, every [`Runtime`](crate::Runtime) built on the thread is a worker of it; on other threads, and
//! without one, runtimes are as they are without the feature.
//!
//! Invariants:
//! - Its kernel does what Linux does or may do (`tests/kernels.rs` runs the same scripts on the world, io_uring and epoll).
//! - Nothing waits in real time. Time moves by what work costs, and to the next event when none can work.
//! - A run is a function of seed, settings and program. [`World::trace_digest`] tells two runs apart.
//! - Without the feature nothing of this is in the build.
//!
//! # Programs of several threads
//!
//! A thread with a runtime is a worker of the world. [`group::spawn`](crate::group::spawn) starts one in either case: a thread
//! without a world, a worker within one; [`World::spawn_worker`] is its form for tests. Workers wake each other through their
//! mailboxes ([`Handle`](crate::Handle), channels, join handles), and each has a core: what one costs delays no other. So
//! code that says "a thread for each core" is simulated as it is, with its counters, buffers and `drain` apart from those of
//! the program's other half, which tasks of one worker would share.
//!
//! It must await what it would block on: a coordinator that waits for its threads is a future too. Threads without a runtime it
//! must not have, for nothing orders them with virtual time; [`spawn_blocking`](crate::spawn_blocking) runs its work at once,
//! on the worker. [`group::run`](crate::group::run), which blocks its caller, starts threads and is not simulated.

pub(crate) mod drive;
mod root;
#[cfg(test)]
pub(crate) mod scripted;
mod stopped;
#[cfg(all(test, not(loom)))]
mod tests;
mod world;

pub use crate::sim_kernel::{Costs, Direction, Entry, Faults, Link, Settings, is_active, spend};
pub use stopped::Stopped;
pub use world::World;

pub(crate) use root::end_worker;
pub(crate) use world::spawn_worker;
