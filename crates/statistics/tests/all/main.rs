//! The statistics against SciPy's results, kept as data, and in simulation: coverage of intervals. All random draws are seeded.

mod coverage;
mod reference;
