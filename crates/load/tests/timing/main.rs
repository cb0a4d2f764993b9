//! The lag of loads, which tests beside would change: one test runs at a time.

mod lag;
#[path = "../shared/mod.rs"]
mod shared;
