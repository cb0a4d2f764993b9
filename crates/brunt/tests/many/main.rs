//! Servers and loads of several processes, as a user types them. That they need several is the doing of a limit of open
//! files so low that a few hundred connections are too many for one.

mod band;
mod endings;
mod plan;
mod refusals;
#[path = "../serve/server.rs"]
#[allow(dead_code, reason = "the tests of one process share this file, and use more of it")]
mod server;
mod together;
