//! Modelled results and seeded random numbers, of several modules.

pub mod chance;
pub mod model;
pub mod summary;
