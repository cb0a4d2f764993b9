//! `brunt load` end to end: the real binary, a target in another process, real signals.
//!
//! Measuring tests take turns ([`target::alone`]): on a small machine two loads at a time would measure each other.

mod ci;
mod compare;
mod counts;
mod endings;
#[path = "../common/head.rs"]
mod head;
mod http;
mod live;
mod memory;
mod once;
mod proxy;
mod recorder;
mod replay;
mod requests;
mod results;
mod script;
mod secrets;
mod stages;
mod stall;
mod target;
mod tls;
mod usage;
mod verdicts;

#[test]
fn role() {
    target::play_role();
}
