//! What a runtime must survive: resets, aborts, exhaustion, peers that do not read, and code that breaks the rules.
//!
//! Every test runs on both backends. Whatever happens, nothing may leak and the next request must be served. Tests that
//! count what the process holds run in a process of their own ([`shared::in_own_process`]).

mod aborts;
mod buffers;
mod churn;
mod day;
mod descriptors;
mod groups;
mod ledger;
mod outlive;
mod panics;
mod peers;
mod registry;
#[path = "../shared/mod.rs"]
mod shared;
mod tasks;
mod timers;
mod wakers;
