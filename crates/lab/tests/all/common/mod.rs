//! Modelled results, seeded random numbers and golden files, of several modules.

pub mod chance;
pub mod golden;
pub mod model;
pub mod summary;
