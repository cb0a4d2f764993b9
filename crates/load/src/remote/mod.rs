//! One load made on several machines, each a part of its threads.
//!
//! - A [`Part`] runs the threads of one machine under orders from another. It ends by itself when its lease is over, which each request
//!   looks at.
//! - What a part measures goes out as seconds, each once and in order: bytes that only a [`Feed`] of the same program reads.
//! - [`coordinate`] makes the report of all parts, as if their threads were of this process.
//!
//! A part is ordered in nanoseconds of CLOCK_MONOTONIC of its machine, and has a clock of its own. What it reports is moved by a [`Feed`] to
//! the clock of the run so that the load begins at the same time on both: offsets of clocks and their errors are in no figure of a second.

mod feed;
mod measured;
mod part;
mod seconds;
mod shift;

pub use crate::engine::others::{Order, Others};
pub use feed::{Feed, coordinate};
pub use measured::{Figures, Measured};
pub use part::{Control, Part, Told};
