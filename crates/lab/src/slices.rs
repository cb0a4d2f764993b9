//! Makes slices and prints what they say: all targets of one load are up at once on the same cores, and each gets a fraction of a
//! second of load at a time, in a random order. The analysis, and the words for slices, are those of `brunt_slices`.

pub mod account;
pub mod generator;
pub mod loader;
pub mod participant;
pub mod points;
pub mod rounds;
pub mod session;
pub mod text;

pub use brunt_results::slice::{Measured, SliceSpec};
pub use generator::{ConnectionSet, Generator};
pub use loader::{Loader, SliceError};
