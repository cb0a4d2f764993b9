//! One load made on several machines, each a part of its threads.
//!
//! - A [`Part`] runs the threads of one machine under orders from another. It ends by itself when its lease is over, which each request
//!   looks at.
//! - What a part measures goes out as seconds, each once and in order: bytes that only a [`Feed`] of the same program reads.
//! - [`coordinate`] makes the report of all parts, as if their threads were of this process.
//!
//! Times are nanoseconds of the run's clock, which each machine has from the zero that it is told.

mod feed;
mod part;
mod seconds;

pub use crate::engine::others::{Order, Others};
pub use feed::{Feed, coordinate};
pub use part::{Control, Part, Told};
