//! Resource use of a process, its tree and the host, as the kernel accounts for it.
//!
//! All figures are read from outside the measured process: `/proc`, the process CPU clock, hardware counters, netlink.
//! Invariants:
//! - An unavailable figure is absent with a reason, never zero and never an estimate.
//! - Nothing changes a setting of the kernel or stays attached after its value is dropped; `cgroup` makes and changes groups
//!   of our own, and a [`Placement`] moves processes to other cores while it lives.
#![allow(missing_docs)]

mod absent;
pub mod affinity;
mod build_id;
mod called;
pub mod cgroup;
pub mod connections;
pub mod counters;
mod cpu_accounting;
pub mod cpu_interference;
pub mod doctor;
pub mod environment;
pub mod everyone;
mod exit_watch;
pub mod generator;
pub mod host;
pub mod listener;
pub mod marked;
mod memory_limit;
pub mod neighbours;
mod network;
mod packet_threads;
mod per_core;
mod placement;
pub mod poll;
mod proc;
pub mod proc_net;
pub mod proc_stat;
pub mod process;
mod process_clock;
mod process_tree;
mod quota;
pub mod regime;
pub mod run_queue;
mod sampling_budget;
mod schedstat;
pub mod search;
pub mod server;
mod service;
pub mod slice;
mod sock_diag;
mod successor;
mod thread_cpu;
mod threads;
mod unix_sockets;

pub use exit_watch::ExitWatch;
pub use host::HostMeter;
pub use placement::Placement;
pub use process_tree::ProcessTree;
pub use sampling_budget::SamplingBudget;
pub use server::ServerMeter;
pub use service::Scope;
