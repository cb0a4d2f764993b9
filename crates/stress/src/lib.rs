//! Co-runners: threads that work on one resource of the machine, in a dose, and count what they do.
//!
//! ```text
//! Options ── resource: one worker a thread ── engine: threads, pace, seconds ── Total
//! ```
//!
//! Invariants:
//! - Working sets are allocated and touched, and files reserved, before the measured time begins.
//! - Figures are counts of work that was done, and the compiler removes none of it ([`std::hint::black_box`]).
//! - No file and no process is left behind, however the process ends.
#![forbid(unsafe_code)]
#![allow(missing_docs, reason = "not published")]

mod affinity;
pub mod cache;
mod cpu;
mod cpu_time;
pub mod disk;
mod dose;
mod engine;
mod error;
pub mod fork;
pub mod memory;
pub mod network;
mod random;
mod resource;
mod room;
mod sink;
mod stop;
mod working_set;

pub use dose::Dose;
pub use engine::{Event, Options, Work, run};
pub use error::StressError;
pub use resource::{Progress, Total};
pub use stop::Stop;
pub use working_set::WorkingSet;
