//! What slices of load say about their targets. All targets of one load are up at once on the same cores, and each gets a fraction
//! of a second of load at a time, in a random order. A slow spell of the machine hits neighbouring slices alike, so ratios of slices
//! of one round hold where two runs one after the other differ by chance.
//!
//! Words: a *slice* is a short load on one target while the others idle; a *round* is one slice of each target, in random
//! order; a *start* is one launch of all targets; a *load* is one combination of settings.
//!
//! Pure but for [`record::read`]: `lab` makes the slices and prints what is found here. `docs/reference/statistics.md` has every
//! formula.
#![forbid(unsafe_code)]
// Not published: items with obvious names have no docs.
#![allow(missing_docs)]

pub mod absolute;
mod analysis;
mod comparison;
pub mod cost;
pub mod length;
pub mod record;

pub use analysis::rounds::{MOST_VOID, Rounds};
pub use analysis::{LEAST_ROUNDS, Progress, RunningRatio, Settings, SlicedLoad, TargetProgress, compare, sentence};
pub use comparison::{Alarm, FIGURES, LoadComparison, Merged, TargetComparison};
pub use record::Slice;
