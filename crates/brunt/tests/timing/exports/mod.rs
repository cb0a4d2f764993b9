//! Figures of a running load as other programs read them.

mod metrics;
