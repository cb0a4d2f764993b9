//! Sliced experiments: all targets of one load are up at once on the same cores, and each gets a fraction of a second of load
//! at a time, in a random order. A slow spell of the machine hits neighbouring slices alike, so ratios of slices of one round
//! hold where two runs one after the other differ by chance.
//!
//! Words: a *slice* is a short load on one target while the others idle; a *round* is one slice of each target, in random
//! order; a *start* is one launch of all targets; a *load* is one combination of settings.

pub mod absolute;
pub mod account;
pub mod analysis;
pub mod comparison;
pub mod generator;
pub mod length;
pub mod loader;
pub mod participant;
pub mod record;
pub mod rounds;
pub mod session;
pub mod text;

pub use analysis::{Progress, Settings, SlicedLoad, compare, sentence};
pub use brunt_results::slice::{Measured, SliceSpec};
pub use comparison::{Alarm, FIGURES, LoadComparison, Merged, TargetComparison};
pub use generator::{ConnectionSet, Generator};
pub use loader::{Loader, SliceError};
pub use record::Slice;
