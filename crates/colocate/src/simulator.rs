//! A simulated machine with an LC service and BE jobs: policies are tested and compared on it, a day in seconds.
//!
//! The service is a queue with Poisson arrivals and exponential service times. BE jobs slow it down by what they use of shared
//! resources, little below a knee and steeply above it. The controller sees what a real one does: counts of the last tenth of a
//! second, late, and sometimes not at all.
//!
//! A simulation shows how policies differ on the same machine; what a real machine does is measured.

mod chance;
pub mod cluster;
pub mod job;
pub mod load;
mod node;
mod plant;
pub mod preset;
pub mod run;
mod scenario;
pub mod search;
mod source;
mod trouble;

pub use job::{Job, Turns};
pub use load::Load;
pub use plant::{Machine, Service};
pub use run::{Outcome, simulate};
pub use scenario::Scenario;
pub use trouble::Trouble;
