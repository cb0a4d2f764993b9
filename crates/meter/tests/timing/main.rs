//! CPU time, waits and costs, which tests beside would change: one test runs at a time.

mod counters;
mod network;
mod overhead;
mod run_queue;
#[path = "../shared/mod.rs"]
mod shared;
mod slice;
mod tree;
