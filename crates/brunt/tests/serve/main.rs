//! `brunt serve` end to end: the real binary, clients and signals.
//!
//! Measuring tests take turns ([`server::alone`]): on a small machine two at a time would measure each other.

mod echo;
mod endings;
mod exhaustion;
mod gone;
mod memory;
mod models;
mod pieces;
mod prefork;
mod refusals;
mod server;
mod unix;
mod work;
