//! Luau scripts with limits on memory and on the time of each call.
//!
//! A [`Vm`] runs one script on one thread; errors are a [`Fault`] of one line. The crates that embed it define the globals of
//! their scripts.
//!
//! Invariants: no call exceeds its limits, and no script gets access to files, processes or sockets (the standard libraries
//! of Luau have none, and none is added here).
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod budget;
mod fault;
mod number;
mod vm;

pub use fault::{Fault, Kind};
pub use mlua;
pub use number::number;
pub use vm::{Limits, Vm};
