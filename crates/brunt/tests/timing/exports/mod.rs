//! Figures of a running load, and of a comparison of two versions, as other programs read them.

mod junit;
mod metrics;
