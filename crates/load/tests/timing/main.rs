//! Times and rates of loads, which tests beside would change: one test runs at a time.

mod connections;
mod counts;
mod course;
mod http;
mod queueing;
mod session;
#[path = "../shared/mod.rs"]
mod shared;
