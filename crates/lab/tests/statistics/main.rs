//! The statistics against SciPy's, kept as data, and against what they promise: intervals that hold as often as they say,
//! comparisons that find what is there and nothing else. All chance here has a seed.

mod chance;
mod coverage;
mod drift;
mod reference;
mod verdicts;
