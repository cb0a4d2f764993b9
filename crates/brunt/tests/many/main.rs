//! Multi-process servers and loads. The tests set a low limit of open files so that a few hundred connections need
//! several processes.

mod band;
mod endings;
mod plan;
mod refusals;
#[path = "../serve/server.rs"]
#[allow(dead_code, reason = "the tests of one process share this file, and use more of it")]
mod server;
mod together;
