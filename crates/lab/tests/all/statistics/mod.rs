//! The statistics against SciPy's results, kept as data, and in simulation: coverage of intervals, power and false alarms of
//! comparisons. All random draws are seeded.

mod coverage;
mod drift;
mod reference;
mod verdicts;
