//! Beyond sockets and timers: cancellation, remote spawn, task sets, blocking work, name resolution, signals.
//!
//! Every test runs on both backends. Tests that count the process's resources or signal it run in a process of
//! their own ([`crate::shared::in_own_process`]).

mod blocking;
mod cancel;
mod descriptors;
mod fs;
mod group;
mod handle;
mod process;
mod resolve;
mod set;
mod signal;
