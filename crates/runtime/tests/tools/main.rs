//! What tasks are built with beyond sockets and timers: channels, stops, sets, blocking work, names, signals.
//!
//! Every test runs on both backends. Tests that count what the process holds, or that signal it, run in a process of
//! their own ([`common::alone`]).

#[path = "../abuse/common.rs"]
#[allow(dead_code)]
mod common;

mod blocking;
mod channel;
mod channel_model;
mod resolve;
mod set;
mod signal;
mod stop;
