//! `brunt serve` and `brunt stress` end to end: the real binary, clients and signals. What judges a measured time is in
//! `tests/timing`.

mod http;
mod stress;
mod tcp;

#[path = "../shared"]
#[allow(dead_code, reason = "each test program uses a part of it")]
mod shared {
    pub mod client;
    pub mod runner;
    pub mod server;
}
