//! Runs one program as several processes, for work that needs more open files than one process may have.
//!
//! A parent ([`Workers`]) starts its own executable as often as needed and exchanges messages with each of these worker
//! processes over a socket, which is the worker's standard input ([`Parent`]). A message may carry an open file.
//! The crate does not know what the processes are for.
//!
//! Invariant: no worker outlives its parent, however the parent ends. The kernel closes the parent's end of the socket,
//! and the worker exits when it reads end of file.
#![forbid(unsafe_code)]
#![allow(missing_docs)]

pub mod fd_limit;
mod frame;
mod parent;
mod partition;
mod worker;

pub use parent::{START_TIMEOUT, StartError, WorkerEvent, Workers};
pub use partition::{Part, partition};
pub use worker::Parent;
