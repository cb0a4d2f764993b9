//! Luau scripts that always end. A [`Vm`] runs one script on one thread under a limit of memory and a limit of time for
//! every call; what goes wrong in it is a [`Fault`] of one line. What scripts may say and see is up to those who use this.
//!
//! It must never let a call run on behind its limit, or a script reach a file, a process or a socket: the standard
//! libraries of Luau have none of these, and nothing is added here.
#![forbid(unsafe_code)]

mod budget;
mod fault;
mod number;
mod vm;

pub use fault::{Fault, Kind};
pub use mlua;
pub use number::number;
pub use vm::{Limits, Vm};
