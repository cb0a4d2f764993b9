//! Counters and times of a worker, which tests beside would change: one test runs at a time.

mod metrics;
mod punctual;
#[path = "../shared/mod.rs"]
mod shared;
