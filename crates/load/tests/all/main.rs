//! Loads on targets with known behaviour: what is sent, received, counted and refused.

mod course;
mod faults;
mod http;
mod session;
#[path = "../shared/mod.rs"]
mod shared;
