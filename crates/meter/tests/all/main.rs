//! What the meters read, as far as tests beside do not change it.

mod counters;
mod listener;
#[path = "../shared/mod.rs"]
mod shared;
mod tree;
