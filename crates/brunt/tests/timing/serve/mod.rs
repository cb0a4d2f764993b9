//! `brunt serve`: CPU time and memory.

mod crowds;
mod exhaustion;
mod gone;
mod memory;
mod work;
