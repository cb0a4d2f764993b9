//! Published files against the code, and drift in simulated series.

mod drift;
mod schema;
