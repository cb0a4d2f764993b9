//! What the tests of all crates share: processes that end with their test, ports, temporary homes, waiting for a state,
//! claims about measured time, and seeded experiments by the thousand.
//!
//! A dependency of tests only; it knows no other crate of this workspace, so that every crate can use it.
//!
//! Time decides nothing here: a state is waited for by looking again and again, and [`LIMIT`] is the point at which a test
//! counts as hung, far from what any machine needs. A test of what only the real kernel shows asserts what a disturbed machine
//! cannot break, such as that a figure lies between readings taken just before and after; what is left is for [`judge`], with
//! [`at_most`] where a control is measured in the same instants.

mod alone;
pub mod chance;
mod changed;
mod disturbance;
mod golden;
mod home;
mod http;
mod interrupted;
mod judge;
mod machine;
mod marked;
mod pairs;
mod ports;
mod process;
mod program;
mod random;
mod role;
mod seeds;
mod text;
mod wait;

pub use alone::alone;
pub use changed::changed;
pub use disturbance::{Disturbance, Watch};
pub use golden::golden;
pub use home::{Home, home};
pub use http::{Reply, exchange, get, read_head};
pub use interrupted::uninterrupted;
pub use judge::{inconclusive, judge};
pub use marked::Marked;
pub use pairs::at_most;
pub use ports::{free_port, listener};
pub use process::{Running, is_running, signal};
pub use program::{copy_program, program};
pub use random::Random;
pub use role::{Role, role};
pub use rustix::process::Signal;
pub use seeds::{each_seed, number};
pub use text::{assert_code, text, told};
pub use wait::{LIMIT, until, until_some};
