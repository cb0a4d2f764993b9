//! Loads of real threads over real sockets. What a load reports of a target with exactly known behaviour is in `sim`.

mod course;
mod faults;
mod http;
mod remote;
mod remote_told;
#[path = "../shared/mod.rs"]
mod shared;
mod smoke;
