//! What a process, its tree and the host consume, as the kernel accounts it.
//!
//! Everything here is read from outside the thing that is measured: `/proc`, the process CPU clock, hardware counters.
//! A figure that cannot be had is absent with a reason, never zero and never estimated in silence. Nothing here writes
//! to the kernel, changes a setting or stays attached after its value is dropped.
//!
//! | module | answers |
//! |---|---|
//! | [`listener`] | which process listens on this address? |
//! | [`process`] | CPU, memory and threads of a process tree over a window |
//! | [`counters`] | instructions and cycles of a set of threads |
//! | [`server`] | the two above, as the `server` part of a result |
//! | [`own`] | instructions of threads of this very process |
//! | [`host`] | CPU time stolen by the hypervisor |
//! | [`environment`] | the circumstances of a trial, `env.json` |
//! | [`doctor`] | what on this machine falsifies results, and how to mend it |
//! | [`pace`] | how fast the machine is at the moment

mod clock;
pub mod counters;
pub mod doctor;
pub mod environment;
pub mod host;
mod ledger;
pub mod listener;
pub mod own;
pub mod pace;
mod proc;
pub mod process;
pub mod server;
mod threads;

pub use server::ServerMeter;
