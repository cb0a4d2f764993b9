//! `brunt serve`: CPU time.

mod crowds;
mod work;
