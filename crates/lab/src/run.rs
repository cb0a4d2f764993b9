//! Runs experiments.

mod build;
pub mod experiment;
mod nginx;
pub mod observer;
pub mod preflight;
pub mod trial;
