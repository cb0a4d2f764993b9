//! Modelled results and golden files, of several modules.

pub mod golden;
pub mod model;
pub mod summary;
