//! `brunt load` as a user types it: the real binary, a real target in a process of its own, real signals.
//!
//! Tests that measure take turns ([`target::alone`]): on a small machine two loads at a time would measure each other.

mod endings;
mod http;
mod results;
mod script;
mod stall;
mod target;
mod tls;
mod usage;
mod verdicts;

#[test]
fn role() {
    target::play_role();
}
