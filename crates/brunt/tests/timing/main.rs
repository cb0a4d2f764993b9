//! Tests that judge measured times, CPU time or memory, or that look at all processes of the machine. Each holds `alone()`, so
//! that they run one at a time; cargo runs no other test program meanwhile.

mod colocate;
mod cost;
mod dose;
mod load;
mod serve;
mod truth;

#[path = "../shared"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod shared {
    pub mod client;
    pub mod example;
    pub mod runner;
    pub mod server;
    pub mod target;
}
