//! What a process, its tree and the host consume, as the kernel accounts it.
//!
//! Everything here is read from outside the thing that is measured: `/proc`, the process CPU clock, hardware counters.
//! A figure that cannot be had is absent with a reason, never zero and never estimated in silence. Nothing here writes
//! to the kernel, changes a setting or stays attached after its value is dropped.
//!
//! | module | answers |
//! |---|---|
//! | [`listener`] | which process listens on this address? |
//! | [`process`] | CPU, memory, page faults and threads of a process tree over a window |
//! | [`counters`] | instructions and cycles of a set of threads |
//! | [`server`] | the two above and what its connections carried, as the `server` part of a result |
//! | [`generator`] | what this very process consumes, for the `generator` part |
//! | [`host`] | processors, interfaces and TCP of the machine, as the `host` part |
//! | [`proc_net`] | counters of the network namespace |
//! | [`environment`] | the circumstances of a trial, `env.json` |
//! | [`doctor`] | what on this machine falsifies results, and how to mend it |
//! | [`cpu_interference`] | what a busy core loses to others |
//! | [`machine_speed`] | how fast the machine is at the moment

mod absent;
pub mod counters;
pub mod cpu_interference;
pub mod doctor;
pub mod environment;
pub mod generator;
pub mod host;
pub mod listener;
pub mod machine_speed;
mod network;
mod per_core;
mod proc;
pub mod proc_net;
pub mod process;
mod process_clock;
mod process_tree;
mod sampling_budget;
pub mod server;
mod sock_diag;
mod threads;

pub use host::HostMeter;
pub use server::ServerMeter;
