//! `brunt serve` as a user types it: the real binary, real clients, real signals, and what it says to whom.
//!
//! Tests that measure take turns ([`server::alone`]): on a small machine two at a time would measure each other.

mod echo;
mod endings;
mod exhaustion;
mod gone;
mod memory;
mod pieces;
mod prefork;
mod refusals;
mod server;
mod work;
